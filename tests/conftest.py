"""What all tests share: one thread, and the real data where it is."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("FIELDMEND_THREADS", "1")


@pytest.fixture
def real():
    """A function: the path of a real file, or a skip by name."""
    root = Path(__file__).parents[1]
    folder = Path(os.environ.get("FIELDMEND_DATA", root.parent / "shared" / "data"))

    def path(name):
        if not (folder / name).exists():
            pytest.skip(f"{name} is not in {folder}")
        return folder / name

    return path
