"""How live runs: lengths of time in µs, checked before anything starts."""

from __future__ import annotations

from dataclasses import dataclass, field

from fieldmend.errors import InputError
from fieldmend.live.clock import SECOND

MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
WINDOW_SLOTS = 288  # that rev 1 is smoothed over, and lasting faults are looked for in


@dataclass(frozen=True)
class Settings:
    """What the command line says.

    Attributes
    ----------
    slot, late, settle
        Length of a slot; how long after its end it closes; how long after that it is settled.
    refit, window
        How often a model is fitted, and to how long a past.
    keep
        How long days stay in the journal; then they move into Parquet. None: for ever.
    limits, level
        As for `recover`.
    learn
        Slots of the stream that a first model is fitted to.
    """

    slot: int = 5 * MINUTE
    late: int = MINUTE
    settle: int = 30 * MINUTE
    refit: int = DAY
    window: int = 14 * DAY
    keep: int | None = 30 * DAY
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)
    level: float = 0.9
    learn: int = 400

    def __post_init__(self) -> None:
        if self.slot <= 0 or self.slot > DAY:
            raise InputError("a slot is between a part of a second and a day long")
        if self.window < self.learn * self.slot // 4:
            raise InputError(
                "--window is too short to fit a model to",
                hint=f"It should hold {self.learn} slots",
            )
        if self.keep is not None and self.keep < self.smoothed * self.slot:
            raise InputError("--keep is shorter than the window that settles slots")

    @property
    def settle_slots(self) -> int:
        """Slots between a closing and its settling."""
        return max(1, -(-self.settle // self.slot))

    @property
    def smoothed(self) -> int:
        """Slots of the window that settles."""
        return max(WINDOW_SLOTS, 3 * self.settle_slots)
