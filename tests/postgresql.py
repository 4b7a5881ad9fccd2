"""A PostgreSQL of our own, a child of the tests, on a socket in a folder of theirs."""

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from glob import glob
from pathlib import Path

import pytest


@contextmanager
def server():
    """Its address; a skip by name where there is none."""
    psycopg = pytest.importorskip("psycopg")
    found = shutil.which("initdb") or next(
        iter(sorted(glob("/usr/lib/postgresql/*/bin/initdb"))), ""
    )
    if not found:
        pytest.skip("no PostgreSQL binaries (initdb) here")
    home = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # a socket's path must be short
    as_user = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        home.chmod(0o755)
        shutil.chown(home, "nobody")
        as_user = {"user": "nobody"}
    binaries = Path(os.path.realpath(found)).parent
    common = {"cwd": home, **as_user}
    done = subprocess.run(
        [binaries / "initdb", "-D", home / "data", "-U", "tester", "--no-sync"],
        capture_output=True, check=False, text=True, env={**os.environ, "LC_ALL": "C"}, **common,
    )  # fmt: skip
    if done.returncode:
        shutil.rmtree(home, ignore_errors=True)
        pytest.skip(f"initdb cannot run here: {done.stderr.strip()[-200:]}")
    child = subprocess.Popen(
        [binaries / "postgres", "-D", home / "data", "-k", home, "-c", "listen_addresses="],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **common,
    )  # fmt: skip
    try:
        address = f"postgresql://tester:secret@/postgres?host={home}"
        for _ in range(100):
            try:
                psycopg.connect(address).close()
                break
            except psycopg.OperationalError:
                time.sleep(0.1)
        yield address
    finally:
        child.terminate()
        child.wait(timeout=30)
        shutil.rmtree(home, ignore_errors=True)
