"""What the extra `live` brings along: little."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
MOST = 10_000_000  # bytes beyond the core


def brought(names, there=()):
    """Names with what they need, extras left out, and without what is there."""
    out, left = set(there), [re.match(r"[\w.-]+", one)[0] for one in names]
    while left:
        name = re.sub(r"[-_.]+", "-", left.pop()).lower()
        if name in out:
            continue
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # for another system or Python
        out.add(name)
        left += [re.match(r"[\w.-]+", one)[0] for one in needs if "extra ==" not in one]
    return out - set(there)


def test_the_extra_is_no_larger_than_ten_megabytes():
    pytest.importorskip("uvicorn")
    core = brought(PROJECT["dependencies"])
    more = brought(PROJECT["optional-dependencies"]["live"], core)
    assert {"paho-mqtt", "starlette", "uvicorn"} <= more
    files = [file.locate() for name in more for file in metadata.files(name) or []]
    size = sum(Path(file).stat().st_size for file in files if Path(file).is_file())
    assert 1_000_000 < size < MOST
