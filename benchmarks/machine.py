"""What the numbers were measured on, for the head of every stored table."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np
import scipy
from threadpoolctl import threadpool_info


def describe() -> str:
    """Processor, cores, memory, versions, linear algebra and its threads, in one line."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        names = [line.split(":")[1].strip() for line in lines if "model name" in line]
        cpu = names[0] if names else cpu
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    blas = [i for i in threadpool_info() if i["user_api"] == "blas"]
    name = f"{blas[0]['internal_api']} {blas[0]['version']}" if blas else "unknown BLAS"
    threads = blas[0]["num_threads"] if blas else "?"
    return (
        f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, {name} on {threads} threads"
    )
