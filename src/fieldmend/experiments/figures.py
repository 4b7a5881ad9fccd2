"""The paper's figures, drawn from the stored tables."""

from __future__ import annotations

from collections.abc import Mapping

from fieldmend.experiments.contestants import TITLES
from fieldmend.experiments.data import SOURCES
from fieldmend.experiments.plots import Axis, Plot, Series, figure
from fieldmend.experiments.tables import Row, Table, column, select

STYLES = {name: i for i, name in enumerate(TITLES)}
PAPER_RATIOS = (0.0277, 0.0551)  # of anomalies, in its Fig. 4
BAND = "Mean over runs; the band is one standard deviation (on a log axis the same factor down)."
RATE = Axis("sampling rate", bounds=(0.05, 0.95), percent=True)


def draw(tables: Mapping[str, Table]) -> dict[str, str]:
    """File name → SVG, for every table that is there."""
    drawn = {
        "fig1-completion": _completion(tables["completion"], size(tables)),
        "fig2-spectrum": _spectrum(tables["spectrum"]),
        "fig4-loss": _loss(tables["loss"]),
        "fig4-anomalies": _anomalies(tables["separation"]),
        "theory-rate": _rate(tables["rate"]),
        "theory-iterations": _iterations(tables["iterations"]),
        "theory-bound": _bound(tables["bound"]),
    }
    for number, (key, source) in zip((6, 7, 8), SOURCES.items(), strict=True):
        mine = select(tables["recovery"], deployment=key)
        title = f"{source.title}{_simulated(mine)}"
        drawn[f"fig5-energy-{key}"] = _energy(select(tables["energy"], deployment=key), title)
        for truth in dict.fromkeys(str(row["truth"]) for row in mine):
            rows = select(mine, truth=truth)
            name = f"fig{number}-{key}-{truth}"
            drawn[name] = _recovery(rows, f"Fig. {number}: {title}, {TRUTHS[truth]}", "nse")
            drawn[f"{name}-lost"] = _recovery(
                rows, f"{title}, lost entries only, {TRUTHS[truth]}", "lost_nse"
            )
        found = select(tables["detection"], deployment=key)
        drawn[f"detection-{key}"] = _detection(found, title)
    return drawn


TRUTHS = {
    "full": "truth = the full matrix",
    "separated": "truth = its LS-separated part",
    "field": "truth = the simulated field",
}


def _simulated(rows: Table) -> str:
    return " (simulated)" if any(row["simulated"] == "yes" for row in rows) else ""


def _conditions(rows: Table) -> list[str]:
    return list(dict.fromkeys(str(row["condition"]) for row in rows))


def words(name: str) -> str:
    """A condition's name for people."""
    return name.replace("_", " ")


def size(tables: Mapping[str, Table]) -> int:
    """Of the square matrices of Figs. 1 and 2: 100, less in a quick look."""
    return int(max(column(tables["spectrum"], "top")))


def _completion(rows: Table, n: int) -> str:
    series = [
        Series(f"{100 * float(share):g} % anomalies", column(mine, "rate"), column(mine, "error"),
               column(mine, "error_spread", 0.0), style=i)
        for i, share in enumerate(dict.fromkeys(row["anomalies"] for row in rows))
        if (mine := select(rows, anomalies=share))
    ]  # fmt: skip
    panel = Plot("", RATE, Axis("relative error ‖L̂ − L‖/‖L‖", log=True), series)
    return figure(f"Fig. 1: matrix completion, simulated {n} × {n}, rank 5", [panel], note=BAND)


def _spectrum(rows: Table) -> str:
    panels = []
    for reading in ("added", "replaced"):
        series = [
            Series(f"{100 * float(share):g} % anomalies", column(mine, "top"),
                   column(mine, "energy"), style=i, marks=False)
            for i, share in enumerate(dict.fromkeys(row["anomalies"] for row in rows))
            if (mine := select(rows, anomalies=share, reading=reading))
        ]  # fmt: skip
        x = Axis("number of largest singular values")
        how = "100 added to the entry" if reading == "added" else "100 in place of the entry"
        panels.append(Plot(how, x, Axis("share of energy", bounds=(0, 1.02)), series))
    return figure("Fig. 2: energy of the largest singular values, simulated", panels, columns=2)


def _loss(rows: Table) -> str:
    series = []
    for i, (key, source) in enumerate(SOURCES.items()):
        mine = select(rows, deployment=key)
        title = f"{source.title}{_simulated(mine)}"
        shares = column(mine, "share_of_nodes")
        series.append(Series(title, column(mine, "loss_rate"), shares, style=i, marks=False))
    x = Axis("loss rate of a node", bounds=(0, 1), percent=True)
    panel = Plot("", x, Axis("share of nodes", bounds=(0, 1.02)), series)
    return figure("Fig. 4 (left): loss rates", [panel])


def _anomalies(rows: Table) -> str:
    names = {
        "paper": "LS-Separation, paper's λ",
        "ours": "our λ",
        "debiased": "our defaults, debiased",
    }
    series = []
    for i, (way, name) in enumerate(names.items()):
        mine = select(rows, settings=way)
        ratios = column(mine, "anomaly_ratio")
        at = range(1, len(mine) + 1)
        series.append(Series(name, at, ratios, style=i, joined=False))
    first = select(rows, settings="paper")
    ends = [0.5, len(first) + 0.5]
    series += [
        Series("the paper's range", ends, [limit] * 2, style=6, marks=False, dashed=True)
        for limit in PAPER_RATIOS
    ]
    x = Axis("matrix", bounds=(ends[0], ends[1]), labels=[_short(row) for row in first])
    panel = Plot("", x, Axis("share of readings in S", percent=True), series)
    return figure("Fig. 4 (right): anomaly ratio", [panel], note=_key(first))


def _short(row: Row) -> str:
    return f"{SOURCES[str(row['deployment'])].title[0]}-{str(row['condition'])[0].upper()}"


def _key(rows: Table) -> str:
    """What the short names stand for, a line for each deployment."""
    lines = []
    for key, source in SOURCES.items():
        mine = select(rows, deployment=key)
        names = ", ".join(f"{_short(row)} {words(str(row['condition']))}" for row in mine)
        lines.append(f"{source.title}{_simulated(mine)}: {names}")
    return "\n".join(lines)


def _energy(rows: Table, title: str) -> str:
    panels = []
    for condition in _conditions(rows):
        mine = select(rows, condition=condition)
        x = Axis("share of singular values", bounds=(0, 1), percent=True)
        series = [
            Series(name, column(mine, "portion"), column(mine, name), style=i, marks=False)
            for i, name in enumerate(("raw", "processed"))
        ]
        y = Axis("share of energy", bounds=(0, 1.02))
        panels.append(Plot(words(condition), x, y, series))
    return figure(f"Fig. 5: singular values, {title}", panels)


def _recovery(rows: Table, title: str, measured: str) -> str:
    panels = []
    for condition in _conditions(rows):
        mine = select(rows, condition=condition)
        series = [_one(select(mine, method=name), name, measured) for name in _methods(mine)]
        panels.append(Plot(words(condition), RATE, Axis("NSE", log=True), series))
    return figure(title, panels, note=BAND)


def _methods(rows: Table) -> list[str]:
    there = {row["method"] for row in rows}
    return [name for name in TITLES if name in there]


def _one(rows: list[Row], name: str, measured: str) -> Series:
    spread = column(rows, f"{measured}_spread", 0.0)
    values = column(rows, measured)
    return Series(TITLES[name], column(rows, "rate"), values, spread, style=STYLES[name])


def _detection(rows: Table, title: str) -> str:
    panels = []
    for measured in ("precision", "recall"):
        for condition in _conditions(rows):
            mine = select(rows, condition=condition)
            series = [_one(select(mine, method=name), name, measured) for name in _methods(mine)]
            y = Axis(measured, bounds=(0, 1.02))
            panels.append(Plot(words(condition), RATE, y, series))
    return figure(f"Injected anomalies found: {title}", panels, note=BAND)


def _rate(rows: Table) -> str:
    bound = ("4‖X₁ − X*‖²/k²", "bound")
    series = _by_mu(rows, ("k", "excess"), "Table III", bound, marks=False)
    panel = Plot("", Axis("iteration k", log=True), Axis("F(X_k) − F(X*)", log=True), series)
    return figure("Theorem 2: convergence, simulated", [panel])


def _iterations(rows: Table) -> str:
    series = _by_mu(rows, ("epsilon", "iterations"), "needed", ("lemma", "lemma"), marks=True)
    panel = Plot("", Axis("accuracy ε / F(X*)", log=True), Axis("iterations", log=True), series)
    return figure("Lemma: iterations to ε, simulated", [panel])


def _by_mu(
    rows: Table, axes: tuple[str, str], name: str, bound: tuple[str, str], *, marks: bool
) -> list[Series]:
    """The columns `axes` for μ fixed and falling, and the bound (title, column), dashed."""
    x, y = axes
    series = [
        Series(f"{name}, μ {kind}", column(mine, x), column(mine, y), style=i, marks=marks)
        for i, kind in enumerate(("fixed", "falling"))
        if (mine := select(rows, mu=kind))
    ]
    fixed = select(rows, mu="fixed")
    title, limit = bound
    line = Series(title, column(fixed, x), column(fixed, limit), style=6, marks=False, dashed=True)
    return [*series, line]


def _bound(rows: Table) -> str:
    panels = []
    for rate in dict.fromkeys(row["rate"] for row in rows):
        mine = select(rows, rate=rate)
        delta = column(mine, "delta")
        series = [
            Series("error", delta, column(mine, "error")),
            Series("bound", delta, column(mine, "bound"), style=6, marks=False, dashed=True),
        ]
        title = f"{100 * float(rate):g} % of readings"
        panels.append(
            Plot(title, Axis("noise δ", log=True), Axis("error ‖X̂ − X‖", log=True), series)
        )
    return figure("Theorem 1: error and bound, simulated", panels)
