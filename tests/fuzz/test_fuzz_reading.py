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

import pytest

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


def test_a_few_inputs():
    fuzz(1000, 25, seed=0, broken=25)


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
