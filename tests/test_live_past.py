"""`fieldmend live` from a file to its journal: names, units and places as a recovery has them."""

import math
from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.cli import main
from fieldmend.live import refitting
from fieldmend.live.modelling import neighbours
from fieldmend.live.view import View


def write(path, slots=60, nodes=6):
    lines = ["node,time,lat,lon,temperature [°C]"]
    for k in range(slots):
        time = f"2026-11-15T{k // 12:02d}:{k % 12 * 5:02d}:00Z"
        for n in range(nodes):
            value = 20 + math.sin(k / 9) + n / 10 + 0.05 * math.cos(7 * k + 3 * n)
            lines.append(f"g{n},{time},60,{10 + n / 100},{value:.3f}")
    path.write_text("\n".join(lines) + "\n")


def test_what_the_past_knows_the_page_shows(tmp_path, capsys):
    file, state = tmp_path / "past.csv", tmp_path / "state"
    write(file)
    options = ["--state", str(state), "--like", str(file), "--listen", "127.0.0.1:0"]
    assert main(["live", str(file), *options]) == 0
    now = View(state).now()
    assert now["conditions"] == {"temperature": "°C"}
    assert now["model"] is not None
    assert {node["state"] for node in now["nodes"]} == {"ok"}
    first, last = now["nodes"][0], now["nodes"][-1]
    # At 60° a degree of longitude is half as long as one of latitude.
    assert math.isclose(last["x"] - first["x"], 0.05 / 2)
    assert first["y"] == 60
    assert "the network's page: http://127.0.0.1:" in capsys.readouterr().err


@pytest.mark.parametrize("nodes", [2, 3, 6])
def test_the_nodes_most_like_a_node_are_others(nodes):
    course = np.cumsum(np.random.default_rng(5).normal(0, 0.3, (200, 1)), axis=0)
    noise = np.random.default_rng(6).normal(0, 0.1, (200, nodes))
    found = neighbours(fm.FieldModel.fit(fm.Grid.of(course + noise, condition="t")))
    assert len(found) == nodes
    for name, others in found.items():
        assert name not in others
        assert len(others) == min(3, nodes - 1)


def test_a_network_of_many_nodes_has_one_model_of_what_is_straight(monkeypatch):
    """More nodes than one recovery takes: fitted as they are, meters and directions left out."""
    monkeypatch.setattr(refitting, "UNPLACED", 10)
    rng = np.random.default_rng(4)
    course = 20 + 4 * np.sin(np.arange(420) / 30)[:, None]
    warm = course + 0.1 * rng.standard_normal((420, 12))
    warm[-1, 3] = 900.0  # beyond its limit
    wind = rng.uniform(0, 360, warm.shape)
    grid = replace(fm.Grid.of(warm, condition="temperature", unit="degC"), values={})
    both = replace(grid, values={"temperature": warm, "wind_direction": wind})
    model = refitting.fitted(both, 0.9, {"temperature": (-40.0, 60.0)})
    assert list(model.conditions) == ["temperature"]
    hidden = warm[:100].copy()
    hidden[50, 3] = np.nan
    out = model.apply(fm.Grid.of(hidden, condition="temperature", unit="degC"))
    assert abs(out["temperature"].estimate[50, 3] - course[50, 0]) < 0.3
    with pytest.raises(fm.InputError, match="too many nodes"):
        refitting.fitted(replace(both, values={"wind_direction": wind}), 0.9, {})
