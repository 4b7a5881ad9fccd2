"""No input makes the reader fail but by refusing: no traceback, no hang, memory bounded.

In a process of its own, so that its memory is the reader's. The long run has a million inputs;
a failing one is made again by its seed: ``inputs.made(seed)``.
"""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).parent / "driver.py"
MEGABYTES, SECONDS = 512, 1.0


def fuzz(stages, full, seed):
    done = subprocess.run(
        [sys.executable, DRIVER, str(stages), str(full), str(seed)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "FIELDMEND_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    logging.getLogger(__name__).info("%s", found)
    assert found["inputs"] == stages + full
    assert 0 < found["refused"] < found["inputs"]
    assert found["failed"] == []
    assert found["slowest"][0] < SECONDS
    assert found["peak MB"] < MEGABYTES


def test_a_few_inputs():
    fuzz(2000, 60, seed=0)


@pytest.mark.long
def test_a_million_inputs():
    fuzz(1_000_000, 10_000, seed=10**7)
