"""Write docs/cli.md and the man page from the command itself; ``--check`` only compares them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from fieldmend.cli.app import app

sys.path.insert(0, str(Path(__file__).parent))
import manpage

PAGE = Path(__file__).with_name("cli.md")
HEAD = """\
# Command line

Results go to standard output, progress and errors to standard error; colours and bars only to a
terminal, and colours not with `NO_COLOR`. What went wrong is said in one line: which file and line,
what was expected, what to try.

CODES
**Completion**: `fieldmend --install-completion` for bash, zsh, fish or PowerShell;
`fieldmend --show-completion` prints the script instead.

**Environment**: `NO_COLOR`; `TMPDIR`, where records are unpacked; `FIELDMEND_THREADS`, of the
reader; `OPENBLAS_NUM_THREADS` and its kin, of the linear algebra, 1 unless you set it;
`FIELDMEND_DEBUG`.

*This page is written by `docs/generate_cli.py`.*
"""


def page() -> str:
    """The page as it should be."""
    group = get_command(app)
    codes = ["| exit code | meaning |", "| --- | --- |"]
    codes += [f"| {code} | {_marked(meaning)} |" for code, meaning in manpage.CODES.items()]
    parts = [HEAD.replace("CODES", "\n".join(codes) + "\n")]
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        parts.append(f"## fieldmend {name}\n")
        parts += _help(command.help or "")
        parts += _options(command)
    return "\n".join(parts)


def _marked(text: str) -> str:
    """Options as code."""
    return re.sub(r"--[a-z-]+( suspect)?", r"`\g<0>`", text)


def _help(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            yield (
                "```text\n" + "\n".join(line[2:] for line in paragraph.split("\n")[1:]) + "\n```\n"
            )
        elif paragraph != "[bold]Examples[/bold]":
            yield paragraph + "\n"


def _options(command: Any) -> Iterator[str]:
    yield "| | |"
    yield "| --- | --- |"
    for parameter in command.params:
        if parameter.name == "help":
            continue
        words = parameter.help or ""
        default = parameter.default
        if default is not None and not isinstance(default, bool | list | tuple):
            words += f" Default: `{getattr(default, 'value', default)}`."
        yield f"| {_name(parameter)} | {words.replace('|', '/')} |"
    yield ""


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar}...`"
    off = parameter.secondary_opts
    value = "" if off or parameter.is_flag else f" {parameter.metavar}".replace("|", r"\|")
    return ", ".join(f"`{name}{value}`" for name in [*parameter.opts, *off])


def pages() -> dict[Path, str]:
    """Each page that is written here, as it should be."""
    return {PAGE: page(), manpage.PAGE: manpage.man(get_command(app))}


def main() -> int:
    wanted = pages()
    if "--check" in sys.argv:
        return int(any(not p.exists() or p.read_text("utf-8") != t for p, t in wanted.items()))
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
