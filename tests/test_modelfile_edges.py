"""What a model file may say, up to the very edge, and not a step beyond."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field import packing
from fieldmend.field.given import Given
from fieldmend.field.modelfile import _named
from fieldmend.field.packing import pack_parts, unpack_model

EDGE = 0.99999  # no φ above this comes from a fit
BEYOND = np.nextafter(EDGE, 1.0)


@pytest.fixture(scope="module")
def packed():
    """A model with a second look, a routine and levels (its own numbers), as a file holds it."""
    net = fm.simulate.network(240, 6, field="temperature", sampling=0.8, seed=3)
    model = fm.decompose(net.readings, method="auto", period=24, faults=False).model
    words, arrays = pack_parts(model.conditions)
    words[0] |= {"routine": [24], "routine_believed": 0.5}
    for name in ("level", "loadings", "phi", "own_phi", "own_innovation", "own_noise"):
        arrays[f"0_routine_{name}"] = arrays[f"0_levels_{name}"] = arrays[f"0_{name}"]
    arrays["0_levels_lean"] = np.full(5, 0.5)
    arrays["0_routine_course"] = np.zeros((6, 24))
    assert "0_second_like" in arrays
    header = {"nodes": list("abcdef"), "slot": 60, "version": "1", "conditions": words}
    return header, arrays


def changed(packed, where, value):
    """The same with one word (a path of names and places) or one array of another content."""
    header, arrays = copy.deepcopy(packed[0]), dict(packed[1])
    if where[0] == "array":
        arrays[where[1]] = np.full_like(arrays[where[1]], value)
    else:
        inner = header
        for step in where[:-1]:
            inner = inner[step]
        inner[where[-1]] = value
    return header, arrays


FIRST = ("conditions", 0)
RULE = (*FIRST, "screen", "rules", 0)
LAW = (*RULE, "laws", 1)


@pytest.mark.parametrize(
    ("where", "good", "bad"),
    [
        (("slot",), 1, 0),
        (("slot",), 2**62 - 1, 2**62),
        ((*FIRST, "level"), 1e-9, 0.0),
        ((*FIRST, "level"), 1 - 1e-9, 1.0),
        ((*FIRST, "sign"), -1.0, -2.0),
        ((*FIRST, "sign"), 1.0, 0.0),
        (("version",), "9", None),
        (("version",), "", 9),
        (("nodes",), list("abcdeg"), list("abcdee")),
        (("nodes",), list("abcdeg"), "abcdef"),
        ((*FIRST, "company"), 0, -1e-9),
        ((*FIRST, "company"), 1.0, "1"),
        ((*FIRST, "power"), [0.1, 0.0], [0.099, 0.0]),
        ((*FIRST, "power"), [1, 0], [1.001, 0]),
        ((*FIRST, "power"), [0.5, 0.0], [0.5, -1e-9]),
        ((*FIRST, "power"), [0.5, 0.0], [0.5, 0.0, 0.0]),
        ((*FIRST, "unheard"), [], [6]),
        ((*FIRST, "routine"), [2, 24], [1, 24]),
        ((*FIRST, "routine"), [24], []),
        ((*FIRST, "second_periods"), [2], [1]),
        ((*FIRST, "second_periods"), [2**40 - 1], [2**40]),
        ((*FIRST, "second_periods"), [24], [24, 24]),  # a slope more than there is
        ((*FIRST, "routine_believed"), 0, -1e-9),
        ((*FIRST, "routine_believed"), 1, 1 + 1e-9),
        ((*FIRST, "fitted_on", "rows"), 0, -1),
        ((*FIRST, "fitted_on", "rows"), 2**62, 2**62 + 1),
        ((*FIRST, "fitted_on", "first"), None, "x"),
        ((*RULE, "rates"), [1e-9, 1 - 1e-9], [0.0, 0.5]),
        ((*RULE, "rates"), [0.5, 0.5], [0.5, 1.0]),
        ((*RULE, "rates"), [0.5, 0.5], [0.5, 0.5, 0.5]),
        ((*RULE, "more"), [0, 0], [0, -1e-9]),
        ((*RULE, "more"), [1e9, 1.0], [1.0]),
        ((*LAW, "freedom"), 1e-9, 0.0),
        ((*LAW, "width"), 1e-9, 0.0),
        ((*LAW, "width"), 9e299, 1e300),
        (("array", "0_own_phi"), EDGE, BEYOND),
        (("array", "0_own_phi"), 0.0, -1e-300),
        (("array", "0_routine_own_phi"), EDGE, BEYOND),
        (("array", "0_levels_own_phi"), EDGE, BEYOND),
        (("array", "0_levels_own_noise"), 1e-300, 0.0),
        (("array", "0_levels_lean"), 1.0, 1.0 + 1e-9),
        (("array", "0_levels_lean"), 0.0, -1e-300),
        (("array", "0_second_phi"), EDGE, BEYOND),
        (("array", "0_own_noise"), 1e-300, 0.0),
        (("array", "0_own_innovation"), 1e-300, 0.0),
        (("array", "0_routine_own_noise"), 1e-300, 0.0),
        (("array", "0_routine_own_innovation"), 1e-300, 0.0),
        (("array", "0_second_noise"), 1e-300, 0.0),
        (("array", "0_second_innovation"), 1e-300, 0.0),
        (("array", "0_second_size"), 1e-300, 0.0),
        (("array", "0_second_penalty"), 0.0, -1e-300),
        (("array", "0_second_like"), 5.0, 6.0),
        (("array", "0_second_like"), 0.0, -1.0),
        (("array", "0_second_like"), 1.0, 1.5),
        (("array", "0_second_able"), 1.0, 0.5),
        (("array", "0_second_able"), 0.0, 2.0),
        (("array", "0_scale"), 1e-300, 0.0),
        (("array", "0_here_to_common"), 1.0, 1.0 + 1e-9),
        (("array", "0_here_to_line"), 0.0, -1e-9),
        (("array", "0_here_to_second"), 1.0, 1.0 + 1e-9),
        (("array", "0_later_to_second"), 1.0, 1.0 + 1e-9),
        (("array", "0_here_calibration_factor"), 0.0, -1e-9),
        (("array", "0_here_calibration_centres"), 1.0, np.inf),  # as many alike as there are
        (("array", "0_here_wider_factor"), 1e-300, 0.0),
        (("array", "0_jumps_1_1_rise"), 1e-300, 0.0),
        (("array", "0_jumps_1_0_spread"), 1e-300, 0.0),
        (("array", "0_level"), -1e308, np.nan),
    ],
)
def test_the_edge_is_taken_and_a_step_beyond_refused(packed, where, good, bad):
    assert unpack_model(*changed(packed, where, good))["conditions"]
    with pytest.raises(ValueError, match=r"\w"):
        unpack_model(*changed(packed, where, bad))


@pytest.mark.parametrize("bad", [[0, 1, 2, 3, 4, 5], [1, 1], [-1], [True], ["1"]])
def test_those_who_were_never_heard_are_some_of_the_nodes_each_once(packed, bad):
    header, arrays = changed(packed, (*FIRST, "unheard"), bad)
    with pytest.raises(ValueError, match="unheard are no nodes of the model"):
        unpack_model(header, arrays)


def test_what_is_packed_comes_back_number_by_number(packed):
    header, arrays = packed
    words, again = pack_parts(unpack_model(header, arrays)["conditions"])
    assert words == header["conditions"]
    assert set(again) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(again[name], array, err_msg=name)


def test_what_older_files_do_not_say_is_left_out(packed):
    header, arrays = copy.deepcopy(packed[0]), dict(packed[1])
    for name in ("company", "routine", "routine_believed"):
        del header["conditions"][0][name]
    for rule in header["conditions"][0]["screen"]["rules"]:
        del rule["more"]
    wider = {key: arrays.pop(key) for key in list(arrays) if "_wider_" in key}
    del arrays["0_levels_lean"]
    assert wider
    one = unpack_model(header, arrays)["conditions"]["value"]
    assert one.company == 0.0
    assert one.routine is None
    assert one.levels is None
    assert one.screen.first.more == (0.0, 0.0)
    at = np.array([-3.0, 0.0, 4.0])
    np.testing.assert_array_equal(one.honest.calibration.wider.at(at), np.ones(3))


@pytest.mark.parametrize("side", [-1, 2**40, 1.0, True, None, "3"])
def test_a_side_of_an_array_is_a_number_of_ordinary_size(side):
    assert _named(["a", 8, [0, 3]]) == ("a", 8, (0, 3))
    for shape in ([side], [2, side]):
        with pytest.raises(ValueError, match="a has no shape"):
            _named(["a", 8, shape])


def test_words_are_asked_for_by_kind():
    given = Given({"n": 3, "yes": True, "text": "3", "far": 1e300, "big": 10**400}, {}, 2)
    assert given.count("n", most=3) == 3
    for name, most in (("n", 2), ("yes", 5), ("text", 5), ("none", 5)):
        with pytest.raises(ValueError, match=name):
            given.count(name, most=most)
    for name in ("far", "big", "yes", "text"):
        with pytest.raises(ValueError, match=name):
            given.number(name, lambda _: True)
    with pytest.raises(ValueError, match="no object with names"):
        Given([1], {}, 2)


@pytest.mark.parametrize(
    ("kind", "rules"), [("jumps", 1), ("jumps", 3), ("leaps", 2), ("leaps", 0)], ids=str
)
def test_a_screen_is_of_a_known_kind_and_of_two_rules(kind, rules):
    words = SimpleNamespace(text=lambda _: kind, word=lambda *_: [{}] * rules)
    with pytest.raises(ValueError, match="screen is of no known kind"):
        packing._screen(SimpleNamespace(inner=lambda _: words))
