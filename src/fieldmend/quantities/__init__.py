"""What a condition is: a temperature, a direction, a meter, a label; and how to compute with it.

`identify` finds the kind by name, unit, range and behaviour and says why. `kinds` is the table of
kinds and the tests that apply to them, `names` the table of names, `units` that of units. How
a kind enters a model that knows straight lines only, and comes back: `power` (skewed), `circle`
(angles), `counter` (meters). Arrays are slots × nodes, NaN = not observed.
"""

from fieldmend.quantities.finding import check_kinds, identify, identify_all, turn
from fieldmend.quantities.kinds import TESTS, WORDS, Kind, Tests
from fieldmend.quantities.quantity import Quantity

__all__ = [
    "TESTS",
    "WORDS",
    "Kind",
    "Quantity",
    "Tests",
    "check_kinds",
    "identify",
    "identify_all",
    "turn",
]
