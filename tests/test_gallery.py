"""The gallery: eight pages, small pictures, nothing on them that no command wrote."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
ONE, ALL = 80_000, 600_000  # bytes of pictures


def situations():
    spec = importlib.util.spec_from_file_location("situations", DOCS / "situations.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["situations"] = module
    spec.loader.exec_module(module)
    return module


SITUATIONS = situations().SITUATIONS


def test_there_are_eight_pages_all_listed_and_no_other():
    names = [one.name for one in SITUATIONS]
    assert len(names) == 8
    listed = re.findall(r"^gallery/(\w+)$", (DOCS / "gallery.md").read_text("utf-8"), re.MULTILINE)
    assert listed == names
    assert {path.stem for path in (DOCS / "gallery").glob("*.md")} == set(names)
    pictures = list((DOCS / "images" / "gallery").iterdir())
    assert {path.stem for path in pictures} == set(names)
    assert max(path.stat().st_size for path in pictures) < ONE
    assert sum(path.stat().st_size for path in pictures) < ALL


@pytest.mark.parametrize("one", SITUATIONS, ids=lambda one: one.name)
def test_a_page_has_its_story_command_and_picture(one):
    text = (DOCS / "gallery" / f"{one.name}.md").read_text("utf-8")
    for part in (one.title, one.story, one.data, f"$ {one.command}\n", f"gallery/{one.name}.png"):
        assert part in text
    assert bool(one.files) != ("simulated" in one.data)


def test_simulated_readings_are_the_same_every_time(tmp_path):
    for one in SITUATIONS:
        if one.make is not None:
            one.make(tmp_path)
            first = (tmp_path / one.first).read_bytes()
            one.make(tmp_path)
            assert (tmp_path / one.first).read_bytes() == first
