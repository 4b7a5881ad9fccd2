"""`make live-demo`: one command, no settings; ends with Ctrl-C, and all that it started with it."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "examples" / "live_demo.py"
SECONDS = 120


def free():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def group(number):
    """Processes of a group that run."""
    out = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True)
    rows = [line.split() for line in out.stdout.splitlines()]
    return [row for row in rows if row[0] == str(number) and not row[1].startswith("Z")]


@pytest.mark.long
@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_shows_a_page_and_leaves_nothing_behind(tmp_path, ended_by):
    pytest.importorskip("uvicorn")
    port = free()
    demo = subprocess.Popen(
        [sys.executable, DEMO, "--listen", f"127.0.0.1:{port}"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        begun = time.monotonic()
        page = next(line for line in demo.stdout if f"http://127.0.0.1:{port}/" in line)
        with urllib.request.urlopen(page.split()[-1]) as response:
            assert b"<title>" in response.read()
        if ended_by == signal.SIGINT:  # a terminal tells all of them, a service the first
            os.killpg(demo.pid, ended_by)
        else:
            demo.send_signal(ended_by)
        rest = demo.communicate(timeout=SECONDS)[0]
        assert demo.returncode == 0, rest
        assert "Traceback" not in rest
        assert time.monotonic() - begun < SECONDS
        assert group(demo.pid) == []
        assert list(tmp_path.iterdir()) == []
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(demo.pid, signal.SIGKILL)
