"""What a model file says, asked for by name and kind: nothing is believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldmend.core.prox import Array


@dataclass(frozen=True)
class Given:
    """What was read, asked for by name and kind."""

    words: Any
    arrays: dict[str, Array]
    nodes: int

    def __post_init__(self) -> None:
        if not isinstance(self.words, dict):
            raise ValueError("a condition is no object with names")

    def of(self, words: Any) -> Given:
        """Another object, with the same arrays."""
        return Given(words, self.arrays, self.nodes)

    def inner(self, name: str) -> Given:
        """An object within this one."""
        return self.of(self.word(name, dict))

    def word(self, name: str, kind: Any) -> Any:
        """Something of a kind."""
        found = self.words.get(name)
        if not isinstance(found, kind) or isinstance(found, bool):
            raise ValueError(f"{name} is missing or of the wrong kind")
        return found

    def text(self, name: str) -> str:
        """A text."""
        return str(self.word(name, str))

    def count(self, name: str, most: int = 2**62) -> int:
        """A whole number from 0 to `most`."""
        found = int(self.word(name, int))
        if not 0 <= found <= most:
            raise ValueError(f"{name} is out of range")
        return found

    def number(self, name: str, good: Callable[[float], bool]) -> float:
        """A number for which something holds."""
        found = self.word(name, int | float)
        if not -1e300 < found < 1e300 or not good(float(found)):
            raise ValueError(f"{name} is out of range")
        return float(found)

    def array(self, name: str, shape: tuple[int, ...] | None) -> Array:
        """An array of finite numbers; None: of any shape."""
        if name not in self.arrays:
            raise ValueError(f"{name} is missing")
        found = self.arrays[name]
        if shape is not None and found.shape != shape:
            raise ValueError(f"{name} has shape {found.shape}, the model needs {shape}")
        if not np.isfinite(found).all():
            raise ValueError(f"{name} holds numbers that are not finite")
        return found

    def positive(self, name: str, shape: tuple[int, ...] | None) -> Array:
        """An array of numbers above zero."""
        found = self.array(name, shape)
        if not (found > 0).all():
            raise ValueError(f"{name} must be above zero")
        return found

    def within(self, name: str, shape: tuple[int, ...], most: float) -> Array:
        """An array of numbers from zero to `most`."""
        found = self.array(name, shape)
        if not ((found >= 0) & (found <= most)).all():
            raise ValueError(f"{name} must lie between 0 and {most}")
        return found
