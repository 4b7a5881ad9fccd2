"""Check the docstrings of public names: Parameters, Returns, Raises, Examples (`make lint`)."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import sys
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

import fieldmend as fm

# No docstring; wrong order; parameters that are missing or that are not there; no Returns, no
# Examples. The rest of numpydoc's rules are about commas and capitals.
RULES = ("GL08", "GL07", "PR01", "PR02", "RT01", "EX01")


def public() -> Iterator[tuple[str, Any]]:
    """Every public function, class and method by its name; constants have none."""
    for name in fm.__all__:
        found = getattr(fm, name)
        if isinstance(found, ModuleType):
            for part in _parts(found):
                yield from _with_methods(f"fieldmend.{name}.{part}", getattr(found, part))
        else:
            yield from _with_methods(f"fieldmend.{name}", found)


def _parts(module: ModuleType) -> list[str]:
    own = [name for name, one in vars(module).items()
           if getattr(one, "__module__", "") == module.__name__]  # fmt: skip
    return [name for name in getattr(module, "__all__", own) if not name.startswith("_")]


def _with_methods(name: str, found: Any) -> Iterator[tuple[str, Any]]:
    if inspect.isfunction(found):
        yield name, found
    elif inspect.isclass(found):
        yield name, found
        for part, method in inspect.getmembers(found, inspect.isroutine):
            ours = str(getattr(method, "__module__", "")).startswith("fieldmend.")
            if ours and not part.startswith("_"):
                yield f"{name}.{part}", method


def complaints(name: str, found: Any) -> list[str]:
    """What the docstring of a name lacks."""
    said = {code: text for code, text in validate(name)["errors"] if code in RULES}
    doc = NumpyDocString(inspect.getdoc(found) or "")
    if inspect.isclass(found):
        # What a record holds is told under Attributes, and what it is for where it comes from.
        said.pop("PR01", None)
        said |= _undocumented(found, doc)
        if dataclasses.is_dataclass(found) and name.count(".") > 1:
            said.pop("EX01", None)
    elif _raises(found) and not doc["Raises"]:
        said["Raises"] = "it raises, and does not say what"
    return list(said.values())


def _undocumented(found: type, doc: NumpyDocString) -> dict[str, str]:
    if issubclass(found, enum.Enum | Warning):
        return {}
    told = {part.strip(" *") for section in ("Parameters", "Attributes") for one in doc[section]
            for part in one.name.split(",")}  # fmt: skip
    missing = [p for p in inspect.signature(found).parameters if p not in told and p[0] != "_"]
    return {"PR01": f"not documented: {', '.join(missing)}"} if missing else {}


def _raises(found: Any) -> bool:
    """True where the function itself has a `raise`."""
    source = textwrap.dedent(inspect.getsource(found))
    return any(isinstance(node, ast.Raise) and node.exc for node in ast.walk(ast.parse(source)))


def main() -> int:
    """Print what is missing; 1 if anything is."""
    names = list(public())
    lines = [f"{name}: {text}" for name, found in names for text in complaints(name, found)]
    print("\n".join([*lines, f"{len(names)} public names, {len(lines)} complaints"]))
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
