"""Directions that are written as points of the compass: NNW is 337.5 degrees.

Only in columns whose name says direction: elsewhere N and SW may be names of nodes.
"""

from collections.abc import Sequence

from fieldmend.quantities import names
from fieldmend.quantities.kinds import Kind
from fieldmend.records.sources.stage import Stage
from fieldmend.records.vocabulary import MISSING
from fieldmend.text import shown

POINTS = tuple("N NNE NE ENE E ESE SE SSE S SSW SW WSW W WNW NW NNW".split())
WORDS = {"NORTH": "N", "EAST": "E", "SOUTH": "S", "WEST": "W"}
DEGREES = {point: 22.5 * i for i, point in enumerate(POINTS)}
DEGREES |= {word: DEGREES[point] for word, point in WORDS.items()}
# A wind without direction: no reading.
NONE = frozenset("calm vrb var variable".split())
ENOUGH = 3  # cells that show it
NEARLY = 0.9  # share of the cells


def settle(stage: Stage) -> None:
    """Which columns of a stage hold points of the compass; a note says so."""
    for i, name in enumerate(stage.names):
        if stage.kinds[i] != "text" or not _directed(name):
            continue
        cells = [(row[i] or "").strip() for row in stage.sample if i < len(row)]
        if not _are_points([c for c in cells if c.casefold() not in MISSING | NONE]):
            continue
        stage.compass.add(i)
        stage.units.setdefault(name, "°")
        for row in stage.sample:
            if i < len(row) and (row[i] or "").strip().upper() in DEGREES:
                row[i] = str(DEGREES[(row[i] or "").strip().upper()])
        stage.notes.append(
            f"{shown(stage.name)}: {shown(name)} holds points of the compass, read as degrees: "
            "N 0, E 90"
        )


def _directed(name: str) -> bool:
    what = names.measure(names.words(name))
    return what in names.MEASURES and (
        names.MEASURES[what].kind is Kind.CIRCULAR and "angle" in names.MEASURES[what].families
    )


def _are_points(cells: Sequence[str]) -> bool:
    points = sum(cell.upper() in DEGREES for cell in cells)
    return points >= ENOUGH and points >= NEARLY * len(cells)


def degrees_sql(cell: str) -> str:
    """SQL for the degrees of a cell; NULL where it is no point of the compass."""
    cases = " ".join(f"WHEN '{point}' THEN {angle}" for point, angle in DEGREES.items())
    return f"CASE upper(trim({cell})) {cases} END"
