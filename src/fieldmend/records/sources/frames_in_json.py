"""Data frames as `DataFrame.to_json` writes them: by column, by index, or split."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fieldmend.records.sources.cutting import STAMP
from fieldmend.records.sources.nested import Row, at
from fieldmend.records.vocabulary import TIME

FEWEST = 3  # rows that show it


def fits(found: Any) -> bool:
    """Whether a document is a frame: a table of keys by keys, or its parts side by side."""
    return _is_split(found) or _is_table(found)


def rows(found: Any) -> Iterator[Row]:
    """The rows of the frame; stamps in its index are the time."""
    if _is_split(found):
        names = [str(name) for name in found["columns"]]
        for index, cells in zip(found["index"], found["data"], strict=True):
            row = dict(zip(names, cells, strict=False)) if isinstance(cells, list) else {}
            yield {**_indexed(index, names), **row}
        return
    inner = list(next(iter(found.values())))
    if _is_time(list(found)):  # by index: each time has its columns
        for index, row in found.items():
            yield {**_indexed(index, inner), **(row if isinstance(row, Mapping) else {})}
        return
    names = list(found)
    for index in inner:
        yield {**_indexed(index, names), **{name: at(found[name], index) for name in names}}


def _indexed(index: Any, names: Sequence[str]) -> Row:
    """The index as the time, where no column is called so."""
    known = {name.casefold() for name in names} & {*TIME}
    return {} if known else {"time": index}


def _is_split(found: Any) -> bool:
    parts = [at(found, part) for part in ("columns", "index", "data")]
    return all(isinstance(part, list) for part in parts) and len(parts[1]) == len(parts[2])


def _is_table(found: Any) -> bool:
    """An object of objects that all have the same keys: numbers of rows, or times."""
    if not isinstance(found, Mapping) or not found:
        return False
    held = list(found.values())
    if not all(isinstance(one, Mapping) and one.keys() == held[0].keys() for one in held):
        return False
    inner = list(held[0])
    if _is_time(list(found)) and len(found) >= FEWEST:
        return bool(inner)
    counts = [str(i) for i in range(len(inner))]
    return len(inner) >= FEWEST and (inner == counts or _is_time(inner))


def _is_time(keys: Sequence[str]) -> bool:
    """Whether all keys are stamps, or epochs in milliseconds as pandas writes them."""
    return all(STAMP.match(key) or (key.isdigit() and len(key) == 13) for key in keys)
