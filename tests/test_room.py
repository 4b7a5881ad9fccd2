"""Memory that was freed stays at hand."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

# Three arrays of two megabytes at a time, as a kernel's temporaries: 1,500 pages, again and again.
FAULTS = """
import resource
import numpy as np
from fieldmend.core.room import keep_freed

if {kept}:
    keep_freed()

def work():
    return (np.ones(2**18) + np.ones(2**18)).sum()

for _ in range(3):
    work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*, kept: bool) -> int:
    # Dask sets the allocator's variables for its workers, and in this process too: another test's.
    own = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", FAULTS.format(kept=kept)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=own)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of GNU's allocator")
def test_pages_are_not_asked_for_again_and_again() -> None:
    assert faults(kept=False) > 50 * 512  # else there is nothing to gain
    # Where the system maps something just behind a process's heap, by chance, that cannot grow.
    assert min(faults(kept=True) for _ in range(3)) < 50
