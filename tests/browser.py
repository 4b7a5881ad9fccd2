"""A headless Chromium, driven through its DevTools pipe with nothing but the standard library."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)  # fmt: skip
# Chromium reads commands from descriptor 3 and answers on 4.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def path():
    """The browser of this machine, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One page of one browser; what it logged, asked for and opened is kept."""

    def __init__(self, *, seconds=60):
        self._seconds = seconds
        self._folder = tempfile.mkdtemp(prefix="fieldmend-browser-")
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(to_read), str(to_write), path(), *FLAGS,
             f"--user-data-dir={self._folder}", "about:blank"],
            pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._last, self.events = b"", 0, []
        self._session = None
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self):
        pages = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in pages if t["type"] == "page")
        opened = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = opened["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End the browser and forget its profile."""
        with contextlib.suppress(Exception):
            self._session = None
            self.call("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=10)
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, method, **params):
        """Send one command and wait for its answer; events that come in between are kept."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        end = time.monotonic() + self._seconds
        while True:
            answer = self._message(end)
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)
            if answer.get("method") == "Page.javascriptDialogOpening":
                # Answered later would be too late: the page waits for it.
                reply = {"id": 0, "method": "Page.handleJavaScriptDialog",
                         "params": {"accept": True}, "sessionId": self._session}  # fmt: skip
                os.write(self._out, json.dumps(reply).encode() + b"\0")

    def _message(self, end):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, end - time.monotonic()))
            data = os.read(self._in, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("the browser does not answer")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, file, *, width=1200, height=900, dark=False, mobile=False):
        """Open a report and wait until its figures are drawn."""
        self.events.clear()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.call("Emulation.setTouchEmulationEnabled", enabled=mobile)
        self.resize(width, height, mobile=mobile)
        self.call("Page.navigate", url=file.resolve().as_uri())
        self.wait("document.documentElement?.dataset.figures")

    def resize(self, width, height, *, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=mobile)  # fmt: skip

    def run(self, script):
        """The value of a JavaScript expression."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def wait(self, script):
        """Wait until an expression is true."""
        end = time.monotonic() + self._seconds
        while not (value := self.run(script)):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {script}")
            time.sleep(0.05)
        return value

    def of(self, method):
        """Events of one kind since the page was opened."""
        return [e["params"] for e in self.events if e.get("method") == method]

    @property
    def requests(self):
        """Addresses asked for, other than the page itself and data inside it."""
        sent = [p["request"]["url"] for p in self.of("Network.requestWillBeSent")]
        return [url for url in sent if not url.startswith(("file:", "data:", "blob:"))]

    @property
    def complaints(self):
        """Errors and warnings: console, uncaught exceptions, policy violations."""
        logged = [
            p["args"]
            for p in self.of("Runtime.consoleAPICalled")
            if p["type"] in ("error", "warning")
        ]
        entries = [p["entry"]["text"] for p in self.of("Log.entryAdded")]
        return [*logged, *entries, *self.of("Runtime.exceptionThrown")]

    def picture(self, file, *, whole=True):
        """A screenshot as PNG, of the whole page or of what is in sight."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(shot["data"]))

    def print(self, file):
        """The page as PDF."""
        file.write_bytes(
            base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])
        )
