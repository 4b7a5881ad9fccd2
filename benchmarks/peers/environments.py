"""The peers' environments: one virtual environment per set of pins, apart from the package's."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@dataclass(frozen=True)
class Environment:
    """A virtual environment under the repository's root and the pins that fill it."""

    folder: str
    pins: str = ""
    whole: bool = False  # the pins are all there is to install: leave out what they depend on

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return ROOT / self.folder / "bin" / "python"

    def versions(self) -> str:
        """The pins in one line."""
        return ", ".join((HERE / self.pins).read_text().split()) if self.pins else ""

    def make(self) -> None:
        """Create it and install its pins."""
        subprocess.run([sys.executable, "-m", "venv", ROOT / self.folder], check=True)
        options = ["--no-deps"] if self.whole else []
        command = [self.python, "-m", "pip", "install", "--quiet", *options, "-r", HERE / self.pins]
        subprocess.run(command, check=True)


ENVIRONMENTS = {
    "fieldmend": Environment(".venv"),
    "main": Environment(".venv-bench", "requirements.txt"),
    "legacy": Environment(".venv-bench-legacy", "requirements-legacy.txt"),
    "cmfrec": Environment(".venv-bench-cmfrec", "requirements-cmfrec.txt"),
    # Its declared dependencies pull the GPU stack; CDRec, SoftImpute and ROSL need none of it.
    "imputegap": Environment(".venv-bench-imputegap", "requirements-imputegap.txt", whole=True),
    "pypots": Environment(".venv-bench-pypots", "requirements-pypots.txt"),
    "statsmodels": Environment(".venv-bench-statsmodels", "requirements-statsmodels.txt"),
    "saqc": Environment(".venv-bench-saqc", "requirements-saqc.txt"),
}


def make_all() -> None:
    """Create every environment of the peers."""
    for environment in ENVIRONMENTS.values():
        if environment.pins:
            print(f"{environment.folder}: {environment.versions()}", flush=True)
            environment.make()
