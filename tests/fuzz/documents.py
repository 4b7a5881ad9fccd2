"""JSON documents of every platform, changed where they stand: keys taken out, other things put in."""

import copy
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import layout_cases
import layout_cases_archives

THINGS = [
    None, 1, -1.5, "x", "", [], {}, [1], [[]], [{}], {"a": 1}, True, "2024-01-01T00:00:00Z", 1704067200,
    {"latitude": 1}, 10**30,
]  # fmt: skip
KEYS = ["time", "node", "ts", "value", "data", "values", "result", "x"]


def documents():
    """Names, and the messages of each file: one document, or one a line."""
    for case in (*layout_cases.CASES, *layout_cases_archives.CASES):
        if case.text.lstrip()[:1] not in ("[", "{"):
            continue
        try:
            yield case.file, [json.loads(case.text)]
        except ValueError:
            yield case.file, [json.loads(line) for line in case.text.splitlines() if line.strip()]


DOCUMENTS = list(documents())


def made(seed):
    """A file name and its text; the same for the same seed."""
    rng = random.Random(seed)
    name, messages = rng.choice(DOCUMENTS)
    changed = [_changed(one, rng) if rng.random() < 0.7 else one for one in messages]
    return name, "\n".join(map(json.dumps, changed))


def _paths(found, path=()):
    keys = found if isinstance(found, dict) else range(len(found) if isinstance(found, list) else 0)
    for key in keys:
        yield (*path, key)
        yield from _paths(found[key], (*path, key))


def _changed(found, rng):
    found = copy.deepcopy(found)
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        paths = list(_paths(found))
        if not paths:
            return copy.deepcopy(rng.choice(THINGS))
        *above, last = rng.choice(paths)
        place = found
        for key in above:
            place = place[key]
        what, thing = rng.random(), copy.deepcopy(rng.choice(THINGS))
        if what < 0.35:
            del place[last]
        elif what < 0.8:
            place[last] = thing
        elif isinstance(place, list):
            place.append(thing)
        else:
            place[rng.choice(KEYS)] = thing
    return found
