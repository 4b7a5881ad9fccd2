"""Places without a reading: lost, or without a sensor that could have lost it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from fieldmend.grid import Array


class State(IntEnum):
    """What a place in the grid is. Only what was lost is filled, unless more is asked for."""

    READ = 0
    LOST = 1
    NOT_IN_SERVICE = 2
    NEVER_FITTED = 3


@dataclass(frozen=True, eq=False)
class Service:
    """When which node was not in service: a few stretches of slots, whatever the record's length.

    Attributes
    ----------
    node, start, stop
        Stretches without a reading in which the node was not in service.
    never
        True for nodes without a single reading of the condition.
    closed
        Stretches of slots, start and stop, in which nobody is ever heard: hours at which the
        network rests every day.
    """

    node: Array
    start: Array
    stop: Array
    never: Array
    closed: Array = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))

    @classmethod
    def throughout(cls, nodes: int) -> Service:
        """Every node, from the first slot to the last."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, nothing, np.zeros(nodes, dtype=np.bool_))

    def of(self, node: int) -> Service:
        """The same for one node alone."""
        own = self.node == node
        nothing = np.zeros(np.count_nonzero(own), dtype=np.int64)
        never = self.never[node : node + 1]
        return Service(nothing, self.start[own], self.stop[own], never, self.closed)

    def moved(self, start: Array, stop: Array, closed: Array) -> Service:
        """The same by other numbers of the slots; stretches of which nothing is left are gone."""
        left = start < stop
        closed = closed[closed[:, 0] < closed[:, 1]]
        return replace(
            self, node=self.node[left], start=start[left], stop=stop[left], closed=closed
        )

    def states(self, read: Array, first: int = 0) -> Array:
        """States of the slots from `first` on, int8; `read` is True where a reading arrived.

        Examples
        --------
        >>> life = Service(*np.array([[0], [2], [4]]), np.array([False, True]))
        >>> life.states(np.array([[True, False]] + 3 * [[False, False]])).tolist()
        [[0, 3], [1, 3], [2, 3], [2, 3]]
        """
        out = np.where(read, np.int8(State.READ), np.int8(State.LOST))
        out[:, self.never] = np.where(read[:, self.never], State.READ, State.NEVER_FITTED)
        start, stop = self.start - first, self.stop - first
        for i in np.flatnonzero((stop > 0) & (start < len(read))):
            part = out[max(start[i], 0) : stop[i], self.node[i]]
            part[part == State.LOST] = State.NOT_IN_SERVICE
        for begin, end in (self.closed - first).tolist():
            part = out[max(begin, 0) : max(end, 0)]
            part[part == State.LOST] = State.NOT_IN_SERVICE
        return out
