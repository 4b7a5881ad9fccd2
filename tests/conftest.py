"""What all tests share: one thread, the real data where it is, a browser."""

import os
from pathlib import Path

import pytest

# Read when NumPy is imported: without `make`, two threads wait for each other more than they work.
for threads in ("FIELDMEND_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")


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


@pytest.fixture(scope="module")
def chromium():
    """The system's Chromium, opened once for a file of tests, or a skip by name."""
    import browser

    if browser.path() is None:
        pytest.skip("no Chromium: make browser")
    pytest.importorskip("playwright")
    with browser.launched() as opened:
        yield opened
