"""A page in the system's Chromium, driven by Playwright; what it logs and asks for is kept."""

import contextlib
import shutil
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb")
SECONDS = 60


def path():
    """The browser of this machine, or None: none is fetched."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@contextlib.contextmanager
def launched():
    """A headless browser, closed in the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Containers run as root, where Chromium's own sandbox does not start.
        browser = playwright.chromium.launch(
            executable_path=path(), args=[*FLAGS], chromium_sandbox=False
        )
        try:
            yield Chromium(browser)
        finally:
            browser.close()


class Chromium:
    """One page at a time, each in a profile of its own."""

    def __init__(self, browser):
        self._browser = browser
        self.page = None

    def open(self, file, **options):
        """Open a report and wait until its figures are drawn."""
        ready = "document.documentElement?.dataset.figures"
        self.visit(file.resolve().as_uri(), ready, **options)

    def visit(
        self, url, ready, *, width=1200, height=900, dark=False, mobile=False, before="", **more
    ):
        """Open an address and wait until `ready` is true; `before` runs before its scripts."""
        if self.page is not None:
            self.page.context.close()
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            is_mobile=mobile,
            has_touch=mobile,
            reduced_motion="reduce",  # a page that glides is nowhere for a while
            **more,
        )
        context.set_default_timeout(1000 * SECONDS)
        self.page = context.new_page()
        self.asked, self.complaints, self.dialogs = [], [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", self._logged)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._opened)
        if before:
            self.page.add_init_script(before)
        self.page.goto(url)
        self.wait(ready)

    def _logged(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _opened(self, dialog):
        self.dialogs.append(dialog.message)
        dialog.accept()  # the page waits for it

    @property
    def requests(self):
        """Addresses asked for, other than the page itself and data inside it."""
        return [url for url in self.asked if not url.startswith(("file:", "data:", "blob:"))]

    def run(self, script):
        """The value of a JavaScript expression."""
        return self.page.evaluate(script)

    def wait(self, script):
        """Wait until an expression is true.

        Playwright's own wait evaluates text inside the page, which the page's policy forbids.
        """
        end = time.monotonic() + SECONDS
        while not self.run(script):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {script}")
            self.page.wait_for_timeout(50)
