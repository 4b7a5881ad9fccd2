"""A power of readings, straight near zero: the scale that skewed quantities are modelled on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.core.prox import Array


@dataclass(frozen=True)
class Power:
    """``sign(x)·((|x| + c)^p − c^p)``: a power of large values, straight through zero.

    Attributes
    ----------
    p
        1, 1/2 or 1/3; 1 changes nothing.
    c
        Where it becomes straight, in the units of the readings: an analyser at zero reads −0.3 as
        often as 0.3, and a plain root would tear the two apart.

    Examples
    --------
    >>> scale = Power(0.5, 1.0)
    >>> scale.forward(np.array([0.0, 3.0, -3.0])).tolist()
    [0.0, 1.0, -1.0]
    >>> scale.back(np.array([0.0, 1.0, -1.0])).tolist()
    [0.0, 3.0, -3.0]
    """

    p: float = 1.0
    c: float = 0.0

    def forward(self, X: Array) -> Array:
        """Onto the scale."""
        if self.p == 1:
            return X
        size = (np.abs(X) + self.c) ** self.p - self.c**self.p
        return np.asarray(np.sign(X) * size)

    def back(self, Y: Array) -> Array:
        """Back into the units of the readings."""
        if self.p == 1:
            return Y
        with np.errstate(over="ignore"):
            size = (np.abs(Y) + self.c**self.p) ** (1 / self.p) - self.c
        return np.asarray(np.sign(Y) * size)

    @property
    def name(self) -> str:
        """In words."""
        return {1.0: "as they are", 1 / 2: "square roots", 1 / 3: "cube roots"}.get(
            self.p, f"power {self.p:g}"
        )


PLAIN = Power()
