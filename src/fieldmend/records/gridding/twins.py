"""Nodes with the same data: a station that agrees with itself is no evidence."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.text import shown

Array = np.ndarray[Any, np.dtype[Any]]
LEAST = 3  # readings that make agreement remarkable
NAMED = 5


def twins(values: Mapping[str, Array], nodes: Sequence[str]) -> list[str]:
    """A sentence for each group of nodes that have the same readings in every condition.

    Nodes that never change are left out: a rain gauge in the dry agrees with every other.

    Examples
    --------
    >>> x = np.array([[1.0, 2, 1], [2, 2, 2], [3, 5, 3]])
    >>> print(*twins({"t": x}, ("a", "b", "c")))
    nodes a, c have the same readings throughout: a station that agrees with itself is no evidence
    """
    if len(nodes) < 2:
        return []
    groups = [np.arange(len(nodes))]
    for array in values.values():
        groups = [small for group in groups for small in alike(array, group)]
    groups = [group for group in groups if _changes(values, group[0])]
    named = [[shown(nodes[int(i)]) for i in group] for group in groups]
    said = [
        f"nodes {', '.join(names[:NAMED])}{f', … ({len(names)} in all)' * (len(names) > NAMED)} "
        "have the same readings throughout: a station that agrees with itself is no evidence"
        for names in named[:NAMED]
    ]
    if len(named) > NAMED:
        said.append(f"{len(named) - NAMED} more groups of nodes have the same readings")
    return said


def _changes(values: Mapping[str, Array], node: int) -> bool:
    """Whether a node has three readings or more, not all equal, of some condition."""
    for array in values.values():
        column = array[:, node]
        seen = column[~np.isnan(column)]
        if len(seen) >= LEAST and seen.min() < seen.max():
            return True
    return False


def alike(array: Array, group: Array) -> list[Array]:
    """The parts of a group of nodes whose columns are equal, each of two nodes or more.

    Block by block: the first one tells most nodes apart.
    """
    groups = [group]
    for rows in blocks(*array.shape):
        finer = []
        for one in groups:
            block = np.ascontiguousarray(array[rows, one].T) + 0.0  # -0 is 0
            block[np.isnan(block)] = np.nan  # NaNs differ in their bytes
            keys: dict[bytes, list[int]] = {}
            for i, column in zip(one, block, strict=True):
                keys.setdefault(column.tobytes(), []).append(int(i))
            finer += [np.array(same) for same in keys.values() if len(same) > 1]
        groups = finer
        if not groups:
            break
    return groups
