"""Memory that was freed stays at hand: arrays of a few megabytes come and go by the thousand.

GNU's allocator hands such an array back to the system when it is freed, and takes zeroed pages for
the next: a fifth of the time of a small solve. It stops doing so for sizes up to that of the
largest block that it has seen freed (32 MiB at most), so one is shown to it, of which no page is
ever touched. What stays with the process is 64 MiB at the most. Elsewhere this does nothing.
"""

from __future__ import annotations

import numpy as np

_LARGEST = 2**25 - 2**16  # bytes, and room for the allocator's own: above 32 MiB nothing is learnt


def keep_freed() -> None:
    """Have what is freed from now on stay with the process; a few microseconds."""
    np.empty(_LARGEST, np.uint8)
