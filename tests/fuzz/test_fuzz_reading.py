"""No input makes the reader fail but by refusing: no traceback, no hang, memory bounded.

In processes of their own, so that their memory is the reader's. The long run has a million inputs;
a failing one is made again by its seed: ``inputs.made(seed)``.
"""

import json
import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import documents
import pytest

import fieldmend as fm
from fieldmend.records.sources import platforms
from fieldmend.records.sources.text import Text

DRIVER = Path(__file__).parent / "driver.py"
MEGABYTES, SECONDS = 512, 1.0
log = logging.getLogger(__name__)


def fuzz(stages, full, seed, broken=0):
    done = subprocess.run(
        [sys.executable, DRIVER, *map(str, (stages, full, seed, broken))],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "FIELDMEND_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["inputs"] == stages + full + broken
    assert 0 < found["refused"] < found["inputs"]
    assert found["failed"] == []
    assert found["slowest"][0] < SECONDS
    assert found["peak MB"] < MEGABYTES
    return found


def flattened(seeds, folder):
    """Documents of platforms through what flattens them: refused, or rows."""
    refused = 0
    for seed in seeds:
        name, text = documents.made(seed)
        path = folder / "in.json"
        path.write_text(text, encoding="utf-8")
        try:
            platforms.flattened(Text(name, path, "", len(text), text.splitlines()), folder)
        except fm.InputError:
            refused += 1
        for made in folder.glob("json-*"):
            made.unlink()
    return refused


def test_a_few_documents_in_disguise(tmp_path):
    """A list where an object should be, a word for a place: no traceback."""
    assert flattened(range(1500), tmp_path) < 300


@pytest.mark.long
def test_many_documents_in_disguise(tmp_path):
    assert flattened(range(10**6, 10**6 + 50_000), tmp_path) < 10_000


def test_a_few_inputs():
    fuzz(600, 25, seed=0, broken=25)


@pytest.mark.long
def test_a_million_inputs():
    """Twenty parts, a process a core: each says how it went as it ends."""
    found = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = [pool.submit(fuzz, 50_000, 500, 10**7 + k * 10**5, 2_000) for k in range(20)]
        for part in as_completed(parts):
            found.append(part.result())
            log.info("%d inputs: %s", sum(each["inputs"] for each in found), found[-1])
    slowest = max(each["slowest"] for each in found)
    log.info("slowest %s, peak %d MB", slowest, max(each["peak MB"] for each in found))
    assert sum(each["inputs"] for each in found) >= 1_000_000
