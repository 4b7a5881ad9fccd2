"""What the command prints of a summary: the errors by length of the gap."""

from rich.console import Console

from fieldmend.cli import printed
from fieldmend.holdout.scoring import FAR


def gap(shortest, longest, hidden, lost, covered=0.9):
    """One kind of gap."""
    return {
        "shortest": shortest,
        "longest": longest,
        "hidden": hidden,
        "mae": 0.125,
        "line_mae": 0.5,
        "covered": covered,
        "lost": lost,
    }


def told(conditions):
    """The lines about the error, as 80 columns show them."""
    held = {"verdict": "2 times closer", "closer": "recovery", "mae": 0.125, "mae_error": None}
    held |= {"line_mae": 0.5, "hidden": 70, "false": 0, "far": 0, "untested": ""}
    found = {name: {"unit": "", "holdout": held | one} for name, one in conditions.items()}
    console = Console(width=80)
    with console.capture() as text:
        for line in printed._holdout(found):
            console.print(line)
    return text.get().splitlines()


def test_errors_stand_by_length_of_the_gap_that_was_lost():
    rows = [gap(1, 3, 50, 0.25), gap(4, 15, 20, 0.0), gap(16, None, 10, 0.75, covered=None)]
    lines = [line.split() for line in told({"t": {"by_gap": [*rows, gap(64, 255, 0, 0.5)]}})]
    assert ["t", "1-3", "25", "%", "0.125", "0.5", "90", "%"] in lines
    assert ["16+", "75", "%", "0.125", "0.5", "-"] in lines
    assert not [line for line in lines if "4-15" in line or "64-255" in line]


def test_one_length_needs_no_table_and_nothing_lost_shows_all():
    assert not [line for line in told({"t": {"by_gap": [gap(1, 3, 50, 1.0)]}}) if "1-3" in line]
    lines = told({"t": {"by_gap": [gap(1, 3, 50, 0.0), gap(4, 15, 20, 0.0)]}})
    assert [line for line in lines if "4-15" in line]


def test_many_conditions_are_cut_and_counted():
    by_gap = [gap(1, 3, 50, 0.5), gap(4, 15, 20, 0.5)]
    lines = told({f"c{i}": {"by_gap": by_gap} for i in range(printed.CELLS + 2)})
    assert sum("4-15" in line for line in lines) == printed.CELLS
    assert lines[-1].split() == ["and", "2", "conditions", "more,", "in", "the", "report"]


def test_what_is_no_truth_is_counted_apart():
    held = {"by_gap": [], "false": 3, "all_mae": 0.25, "all_line_mae": 0.75, "far": 1}
    said = " ".join(" ".join(told({"t": held})[-3:]).split())
    assert "3 false left out, with them 0.25 (line 0.75)" in said
    assert "1 suspect far from estimate and line both, so likely false" in said
    assert f"each error cut to {FAR:g} times what 9 in 10 stay below" in said
