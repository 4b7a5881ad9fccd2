"""Name, unit, range and behaviour → what a condition is, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf, pi

from fieldmend.errors import InputError
from fieldmend.quantities import names, units
from fieldmend.quantities.behaviour import ENOUGH, Array, Behaviour, behaviour
from fieldmend.quantities.kinds import Kind
from fieldmend.quantities.names import MEASURES, Measure
from fieldmend.quantities.quantity import Quantity
from fieldmend.text import counted, percent, shown

MOSTLY = 0.5  # share of readings at one end of its range that makes a quantity intermittent
OFTEN_ZERO = 0.25  # and that one has to have whose name says so: a month's rain is hardly ever 0
SKEWED = 3.0  # times as far to the 99 % quantile as to the 1 % one
NEGATIVE = 0.01  # share of negative readings that "never below zero" bears: an analyser's noise
NAMELESS = "value"  # what a table of nodes measures if nothing says so
UNLIKE = 10.0  # factor by which the nodes' ranges differ that are not of one quantity
FEW = 3  # values of a category
CODES = 32  # values of a label
FEWEST = 12  # values of which a range says something
DIGIT = 9  # largest code of a category
RISING = 0.8  # share of the nodes
IN_TENS = 24  # of 36 directions that have to be there
NO_LIMITS = (-inf, inf)
FROM_ZERO = (Kind.POSITIVE, Kind.INTERMITTENT, Kind.ACCUMULATOR)


def identify(name: str, unit: str, X: Array, *, kind: str | None = None) -> Quantity:
    """What a condition is.

    Parameters
    ----------
    name
        Of the column.
    unit
        As the file says it, "" if it does not.
    X
        Readings, slots × nodes, NaN = not observed.
    kind
        What the user says it is: one of `Kind`, or ``circular:24``, ``bounded:0:1``.

    Returns
    -------
    Quantity

    Raises
    ------
    InputError
        A kind that is not known.

    Examples
    --------
    >>> import numpy as np
    >>> u = np.random.default_rng(0).uniform(40, 100, (50, 3))
    >>> print(identify("humidity", "", u).in_words())
    bounded (0 to 100 %): the name says humidity, and its readings lie within 40.9 to 99.3
    >>> print(identify("label", "", np.zeros((50, 3))).in_words())
    passed: the name says a label, and it has 1 whole value
    """
    seen = behaviour(X)
    parts = names.words(name)
    what, unit = _named(parts, unit or names.unit_in_brackets(name))
    families = MEASURES[what].families if what else ()
    guess = "" if unit or not seen.count else _guessed_unit(families, seen)
    found = _found(what, parts, seen) if kind is None else _told(kind)
    if kind is None and not (what or unit) and name.casefold() == NAMELESS:
        found = _mixed(found, seen)
    unit = unit or guess
    if what == "pressure" and units.by_range("pressure", seen.q01, seen.middle, seen.q99) == unit:
        what = "air pressure"
    found = replace(found, unit=unit, what=what, unit_guessed=bool(guess))
    return _limited(found, MEASURES.get(what), seen)


def identify_all(
    values: Mapping[str, Array],
    units: Mapping[str, str],
    kinds: Mapping[str, str] | None = None,
) -> dict[str, Quantity]:
    """Condition → what it is; `kinds` are those the user named.

    Raises
    ------
    InputError
        A kind that is not known, or of a condition that is not there.
    """
    told = dict(kinds or {})
    for name in told:
        if name not in values:
            raise InputError(
                f"kind of {shown(name)!r}, which is not there",
                hint=f"Conditions: {', '.join(shown(one) for one in values)}",
            )
    out = {
        name: identify(name, units.get(name, ""), X, kind=told.get(name))
        for name, X in values.items()
    }
    return (
        out if len(out) == 1 else {name: _of_the_node(q, values[name]) for name, q in out.items()}
    )


def _mixed(found: Quantity, seen: Behaviour) -> Quantity:
    """What nobody named need not be one quantity: nodes that differ too much measure other things.

    What nodes that differ only as much as sensors of one kind do look like is left as it is.
    """
    if found.kind not in (Kind.LINEAR, Kind.POSITIVE) or seen.unlike < UNLIKE:
        return found
    why = f"its columns range over {seen.unlike:.0f} times as much as each other: other quantities"
    return Quantity(Kind.MIXED, reason=why, guessed=True)


def _of_the_node(found: Quantity, X: Array) -> Quantity:
    """Beside readings, what never changes at a node is something about it: its height, its id."""
    if not found.guessed or found.what or found.kind is not Kind.LINEAR:
        return found
    seen = behaviour(X)
    if seen.still < 1 or not 2 <= seen.distinct <= seen.count / 4:
        return found
    why = "it never changes at a node: something about the node"
    return replace(found, kind=Kind.PASSED, reason=why)


def turn(name: str, unit: str, readings: Array) -> float:
    """Length of the circle that readings of a direction go round, by name and unit; else 0.

    Examples
    --------
    >>> import numpy as np
    >>> turn("wind_dir_deg", "", np.array([350.0, 20.0])), turn("t", "", np.array([20.0]))
    (360.0, 0.0)
    """
    what = _named(names.words(name), unit)[0]
    if what not in MEASURES or MEASURES[what].kind is not Kind.CIRCULAR:
        return 0.0
    found = identify(name, unit, readings[:, None])
    return found.period if found.kind is Kind.CIRCULAR else 0.0


def check_kinds(kinds: Mapping[str, str]) -> None:
    """Refuse kinds that are not known, before anything is read."""
    for kind in kinds.values():
        _told(kind)


def _named(parts: list[str], unit: str) -> tuple[str, str]:
    """What the name means, and the unit in its usual spelling."""
    family, usual = units.spelt(unit)
    whole = names.measure(parts)
    bare, ending, count = whole, "", 0
    if len(parts) > 1:
        known = MEASURES[whole].families if whole else ()
        ending, count = units.at_the_end(parts, known)
        if count:
            # "wind_speed_kt" is "wind_speed"; "soil_pct" stays what it is called.
            bare = names.measure(parts[:-count]) or whole
    if not usual and ending:
        family, usual = units.spelt(ending)
    families = MEASURES[bare].families if bare else ()
    if family and families and family not in families:
        of_whole = MEASURES[whole].families if whole else ()
        # Humidity in g/m³ is no share, a battery in % no voltage; "wind_deg" is no speed.
        bare = whole if family in of_whole else ""
    return bare or _of_family(family), usual


def _of_family(family: str) -> str:
    """What a unit alone says: a share has bounds, an angle in degrees need be no direction."""
    return {"share": "share", "concentration": "concentration"}.get(family, "")


def _guessed_unit(families: tuple[str, ...], seen: Behaviour) -> str:
    if seen.distinct < FEWEST:
        return ""  # codes and classes have none
    if "angle" in families and _in_tens(seen):
        return "10°"
    found = (units.by_range(f, seen.q01, seen.middle, seen.q99) for f in families)
    return next((unit for unit in found if unit), "")


def _found(what: str, parts: list[str], seen: Behaviour) -> Quantity:
    """By name where the readings agree, else by behaviour."""
    if not what:
        return _by_behaviour(seen, "")
    kind = MEASURES[what].kind
    if kind is Kind.PASSED:
        # "reading" and "index" may hold a measurement as well: without a word about the name.
        fits = _no_measurement(what, seen)
        named = Quantity(Kind.PASSED, reason=f"the name says {_a(what)}{fits}")
        return named if fits else _by_behaviour(seen, "")
    doubt = _contradicted(kind, seen)
    if "pressure" in what and seen.count >= ENOUGH and seen.zero >= OFTEN_ZERO:
        doubt = f"{percent(seen.zero)} of its readings are 0"  # P is precipitation to others
    if doubt:
        return _by_behaviour(seen, f"the name says {_a(what)}, but {doubt}; ")
    if kind is Kind.INTERMITTENT and _rises(seen):
        reason = f"the name says {what}, and its readings only rise{_resets(seen)}"
        return Quantity(Kind.ACCUMULATOR, reason=reason, low=0.0)
    if kind is Kind.INTERMITTENT and seen.count >= ENOUGH and seen.zero < OFTEN_ZERO:
        reason = f"the name says {what}, but only {percent(seen.zero)} of its readings are 0"
        return Quantity(Kind.POSITIVE, reason=reason, low=0.0)
    if kind is Kind.POSITIVE and _topped(seen):
        reason = f"the name says {what}, and {_at_the_top(seen)}"
        return Quantity(Kind.INTERMITTENT, reason=reason, low=0.0, high=seen.q99)
    support = _supported(kind, seen)
    doubtful = names.weak(parts) and not support and kind is not Kind.LINEAR
    return Quantity(kind, reason=f"the name says {_a(what)}{support}", guessed=doubtful)


def _a(what: str) -> str:
    return f"{'an' if what[0] in 'aeiou' else 'a'} {what}" if what in LABELS else what


LABELS = ("label", "identifier", "sequence number", "meter")


def _supported(kind: Kind, seen: Behaviour) -> str:
    """What the readings add to a name, "" if nothing."""
    if kind is Kind.CIRCULAR and seen.wraps:
        return f", and readings go round from {seen.circle:g} to 0"
    if kind is Kind.CIRCULAR and seen.circle:
        return f", and its readings fill {seen.low:g} to {seen.high:g}"
    if kind is Kind.INTERMITTENT and seen.zero >= MOSTLY:
        return f", and {percent(seen.zero)} of its readings are 0"
    if kind is Kind.BOUNDED and seen.q01 >= 0 and 50 < seen.q99 <= 105:
        return f", and its readings lie within {seen.q01:.3g} to {seen.q99:.3g}"
    if kind is Kind.POSITIVE and seen.q01 >= 0 and seen.tail >= SKEWED:
        return f", and its upper tail is {_times(seen)} the lower"
    if kind is Kind.POSITIVE and seen.q01 >= 0:
        return ", and its readings are not below 0"
    if kind is Kind.ACCUMULATOR:
        return f", and its readings only rise{_resets(seen)}"
    return ""


def _times(seen: Behaviour) -> str:
    return f"{seen.tail:.0f} times" if seen.tail < 100 else "over 100 times"


def _resets(seen: Behaviour) -> str:
    return f" but for being set back {counted(seen.resets, 'time')}" if seen.resets else ""


def _contradicted(kind: Kind, seen: Behaviour) -> str:
    """Why the readings cannot be of the kind that the name says, "" if they can."""
    if seen.count < ENOUGH:
        return ""
    if kind is Kind.CIRCULAR and (seen.high > 361 or seen.low < -181):
        return f"readings reach from {seen.low:.4g} to {seen.high:.4g}"
    if kind in (Kind.POSITIVE, Kind.INTERMITTENT, Kind.BOUNDED) and seen.negative > 0.2:
        return f"{percent(seen.negative)} of its readings are negative"
    if kind is Kind.BOUNDED and seen.q90 > 115:
        return f"a tenth of its readings are above {seen.q90:.4g}"
    if kind is Kind.ACCUMULATOR and not _rises(seen):
        return "its readings fall as often as they rise"
    return ""


def _no_measurement(what: str, seen: Behaviour) -> str:
    """What shows that a label, identifier or sequence number is one, "" if nothing does."""
    if what == "sequence number":
        if seen.steady >= 0.8:
            return ", and it rises by the same step each slot"
        return ", and it only rises" if _rises(seen) else ""
    if what == "identifier":
        return ", and it never changes at a node" if seen.still >= 0.99 else ""
    few = seen.whole and seen.distinct <= CODES
    return f", and it has {counted(seen.distinct, 'whole value')}" if few else ""


def _rises(seen: Behaviour) -> bool:
    return seen.rising >= RISING


def _topped(seen: Behaviour) -> bool:
    """Whether it is at its highest most of the time, and now and then far below."""
    return seen.low >= 0 < seen.q99 and seen.topped >= MOSTLY and seen.distinct > FEW


def _at_the_top(seen: Behaviour) -> str:
    return f"{percent(seen.topped)} of its readings are {seen.q99:g}, its highest"


def _by_behaviour(seen: Behaviour, before: str) -> Quantity:
    """A guess, and said to be one, unless nothing about the readings is special."""
    if seen.count < ENOUGH:
        return Quantity(Kind.LINEAR, reason=f"{before}too few readings to tell", guessed=True)

    def guess(kind: Kind, why: str, **more: float) -> Quantity:
        return Quantity(kind, reason=f"{before}{why}", guessed=True, **more)  # type: ignore[arg-type]

    if seen.steady >= 0.95 and seen.whole and seen.distinct > FEW:
        return guess(Kind.PASSED, "whole numbers that rise by the same step each slot: a counter")
    if 2 <= seen.distinct <= FEW and seen.whole and max(abs(seen.low), abs(seen.high)) <= DIGIT:
        return guess(Kind.PASSED, f"only {seen.distinct} values, all whole: a category")
    if _rises(seen):
        return guess(Kind.ACCUMULATOR, f"readings only rise{_resets(seen)}", low=0.0)
    if seen.wraps:
        return guess(Kind.CIRCULAR, f"readings go round from {seen.circle:g} to 0")
    if seen.low >= 0 and seen.zero >= MOSTLY and seen.distinct > FEW:
        return guess(Kind.INTERMITTENT, f"{percent(seen.zero)} of the readings are 0", low=0.0)
    if _topped(seen):
        return guess(Kind.INTERMITTENT, _at_the_top(seen), low=0.0, high=seen.q99)
    skewed = seen.tail >= SKEWED and seen.q99 > 0 and seen.middle > 0
    if seen.low >= 0 and skewed and seen.q01 < 0.5 * seen.middle:
        why = f"never below 0, and the upper tail is {_times(seen)} the lower"
        return guess(Kind.POSITIVE, why, low=0.0)
    why = "nothing special about the readings" if before else "no known name, nothing special"
    return Quantity(Kind.LINEAR, reason=f"{before}{why}", guessed=True)


def _told(kind: str) -> Quantity:
    """As the user said it."""
    word, *numbers = str(kind).strip().casefold().split(":")
    known = [one.value for one in Kind]
    try:
        ends = [float(n) for n in numbers]
    except ValueError:
        ends = [inf] * 9
    fitting = {"circular": (0, 1), "bounded": (0, 2)}.get(word, (0,))
    if word not in known or len(ends) not in fitting or (ends and not _sensible(word, ends)):
        raise InputError(
            f"kind {shown(kind)!r} is not known",
            hint=f"One of {', '.join(known)}; circular:24 and bounded:0:1 say how far",
        )
    found = Quantity(Kind(word), reason="as you said")
    if word == "circular":
        return replace(found, period=ends[0] if ends else 0.0)
    if word == "bounded" and ends:
        return replace(found, low=ends[0], high=ends[1])
    return found


def _sensible(word: str, ends: list[float]) -> bool:
    if word == "circular":
        return 0 < ends[0] < inf
    return -inf < ends[0] < ends[1] < inf


def _limited(found: Quantity, measure: Measure | None, seen: Behaviour) -> Quantity:
    """Bounds, period and possible range, by kind, unit and what is usual in the readings."""
    low, high = found.low, found.high
    if measure is not None and measure.kind is found.kind:
        low, high = max(low, measure.low), min(high, measure.high)
    if found.kind in FROM_ZERO:
        low = max(low, 0.0)
    usual = _usual(measure, seen)
    possible = _possible(found, measure, seen, usual)
    if found.kind is Kind.CIRCULAR:
        period = found.period or _period(found, seen)
        return replace(found, period=period, possible=_turn(period, seen), low=-inf, high=inf)
    if found.kind is Kind.BOUNDED and not found.bounded:  # the user gave no ends
        low, high = (0.0, 100.0) if high == inf else (low, high)
        low, high, possible = _scaled(found, (low, high), possible, seen, usual[1])
    if found.kind is Kind.POSITIVE and seen.negative > NEGATIVE:
        low = min(low, usual[0])  # an analyser at zero: as usual here
    return replace(found, low=low, high=high, possible=possible)


def _period(found: Quantity, seen: Behaviour) -> float:
    if found.unit == "rad" or (found.unit == "" and seen.high <= 2 * pi + 0.01):
        return 2 * pi
    if found.unit == "10°" or (found.unit == "" and _in_tens(seen)):
        return 36.0
    return 24.0 if found.what == "time of day" else 360.0


def _in_tens(seen: Behaviour) -> bool:
    """Whether directions are told in tens of degrees: whole numbers up to 36, all over them."""
    fills = seen.distinct >= IN_TENS and 0 <= seen.low and seen.high in (35, 36)
    return bool(seen.whole and fills)


def _turn(period: float, seen: Behaviour) -> tuple[float, float]:
    """One turn, from 0 or from −½; rounding is borne."""
    start = -period / 2 if seen.count and seen.q01 < 0 else 0.0
    return start - 1e-3 * period, start + period * (1 + 1e-3)


def _scaled(
    found: Quantity,
    ends: tuple[float, float],
    possible: tuple[float, float],
    seen: Behaviour,
    upper: float,
) -> tuple[float, float, tuple[float, float]]:
    """A share may be of 1, a cloud cover of 8; a humidity sensor may usually read 101."""
    low, high = ends
    if found.what == "acidity" or not seen.count:
        return low, high, possible
    if found.unit in ("", "1") and seen.q99 <= 1.05:
        low, high = 0.0, 1.0
    elif found.what == "cloud cover" and seen.high <= 9 and seen.whole:
        low, high = 0.0, 9.0 if seen.high > 8 else 8.0
    usual = max(high, upper)
    slack = 0.05 * (high - low)
    if possible == (-inf, inf):
        possible = low - 0.2 * slack, high + slack
    return low, usual, (possible[0], max(possible[1], usual))


def _usual(measure: Measure | None, seen: Behaviour) -> tuple[float, float]:
    """Where readings usually are: of more than a few nodes, where it is known what is measured.

    One node that sends −999 for a third of the record is three in a hundred readings of twelve.
    """
    if measure is None or measure.signed:
        return seen.q01, seen.q99
    return max(seen.q01, seen.lower), min(seen.q99, seen.upper)


def _possible(
    found: Quantity, measure: Measure | None, seen: Behaviour, usual: tuple[float, float]
) -> tuple[float, float]:
    """What can be true at all."""
    table = {} if measure is None else measure.possible
    low, high = table.get(found.unit, table.get("", NO_LIMITS))
    if found.unit.startswith(units.TENTH):
        low, high = (10 * end for end in table.get(found.unit.removeprefix(units.TENTH), NO_LIMITS))
    if found.kind in FROM_ZERO:
        low = min(_noise_below(seen, usual[0]), 0.0 if low == -inf else low)
    # What a hundredth of the readings exceed is no gross error, whatever the table says.
    if seen.count >= ENOUGH:
        low, high = min(low, usual[0]), max(high, usual[1])
    return low, high


def _noise_below(seen: Behaviour, usual: float) -> float:
    """How far below zero noise takes an instrument that measures nothing.

    What one reading in a hundred falls below is no limit of noise that few of them show.
    """
    if not seen.count:
        return 0.0
    return -max(0.1 * abs(seen.q90), -6.0 * min(usual, 0.0))
