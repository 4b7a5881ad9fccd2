"""Write docs/cli.md from the command itself; ``--check`` only says whether it is up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from fieldmend.cli.app import app

PAGE = Path(__file__).with_name("cli.md")
HEAD = """\
# Command line

Results go to standard output, progress and errors to standard error; colours and bars only to a
terminal, and colours not with `NO_COLOR`. What went wrong is said in one line: which file and line,
what was expected, what to try.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | suspects found, where `--fail-on suspect` was asked |
| 2 | wrong usage; an output that is there already, without `--force` |
| 3 | input that cannot be used, or is not there |
| 4 | the environment failed: disk, permission, memory, a package that is not installed |
| 70 | an error inside fieldmend: please report it (`FIELDMEND_DEBUG=1` shows the traceback) |
| 130, 143 | stopped by Ctrl-C, or by SIGTERM; nothing is left half written |

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
    parts = [HEAD]
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        parts.append(f"## fieldmend {name}\n")
        parts += _help(command.help or "")
        parts += _options(command)
    return "\n".join(parts)


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


def main() -> int:
    wanted = page()
    if "--check" in sys.argv:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != wanted)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
