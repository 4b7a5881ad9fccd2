"""A page in the system's Firefox, driven by its own protocol (Marionette): nothing is fetched."""

import contextlib
import json
import shutil
import socket
import subprocess
import time
from pathlib import Path

NAMES = ("firefox", "firefox-esr")
SECONDS = 60


def path():
    """The browser of this machine, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@contextlib.contextmanager
def launched(folder):
    """A headless Firefox with a profile in a folder, ended in the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    profile = Path(folder) / "profile"
    profile.mkdir()
    (profile / "user.js").write_text(
        f'user_pref("marionette.port", {port});\n'
        'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
        'user_pref("app.update.enabled", false);\n'
        'user_pref("network.captive-portal-service.enabled", false);\n'
        'user_pref("network.connectivity-service.enabled", false);\n'
    )
    child = subprocess.Popen(
        [path(), "--headless", "--marionette", "--no-remote", "--profile", profile],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"HOME": str(folder), "PATH": "/usr/local/bin:/usr/bin:/bin"},
    )
    try:
        with _connected(port, child) as line:
            yield Firefox(line)
    finally:
        child.terminate()
        child.wait(timeout=SECONDS)


def _connected(port, child):
    for _ in range(10 * SECONDS):
        if child.poll() is not None:
            raise RuntimeError(f"Firefox ended with {child.returncode}")
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        time.sleep(0.1)
    raise RuntimeError("Firefox does not answer")


class Firefox:
    """One page."""

    def __init__(self, line):
        self._line, self._rest, self._number = line, b"", 0
        self._received()  # who it is
        self._asked("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {}}})

    def open(self, file):
        """Open a report and wait until its figures are drawn."""
        self._asked("WebDriver:Navigate", {"url": file.resolve().as_uri()})
        self.wait("document.documentElement.dataset.figures")

    def run(self, expression):
        """The value of an expression."""
        script = {"script": f"return {expression}", "args": []}
        return self._asked("WebDriver:ExecuteScript", script)["value"]

    def wait(self, expression):
        """Until an expression is true."""
        for _ in range(20 * SECONDS):
            if self.run(expression):
                return
            time.sleep(0.05)
        raise AssertionError(f"never true: {expression}")

    def _asked(self, command, parameters):
        self._number += 1
        message = json.dumps([0, self._number, command, parameters])
        self._line.sendall(f"{len(message)}:{message}".encode())
        _, number, error, result = self._received()
        assert number == self._number
        assert error is None, error
        return result

    def _received(self):
        while b":" not in self._rest:
            self._rest += self._line.recv(1 << 16)
        length, _, self._rest = self._rest.partition(b":")
        while len(self._rest) < int(length):
            self._rest += self._line.recv(1 << 16)
        found, self._rest = self._rest[: int(length)], self._rest[int(length) :]
        return json.loads(found)
