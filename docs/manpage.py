"""The man page, from the same help as docs/cli.md: groff's man macros, nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fieldmend import __version__

PAGE = Path(__file__).with_name("fieldmend.1")
CODES = {
    "0": "done",
    "1": "suspects found, or something needs a person, where --fail-on asks for it",
    "2": "wrong usage; an output that is there already, without --force",
    "3": "input that cannot be used, or is not there",
    "4": "the environment failed: disk, permission, memory, a package that is not installed",
    "70": "an error inside fieldmend: please report it",
    "75": "another run of the same job is at work: try again later",
    "130, 143": "stopped by Ctrl-C, or by SIGTERM; nothing is left half written",
}
ENVIRONMENT = {
    "NO_COLOR": "No colours.",
    "TMPDIR": "Where records are unpacked.",
    "FIELDMEND_THREADS": "Threads of the reader.",
    "OPENBLAS_NUM_THREADS": "And its kin: threads of the linear algebra, 1 unless you set it.",
    "FIELDMEND_DEBUG": "Show the traceback of an error.",
}


def man(group: Any) -> str:
    """The page as it should be."""
    lines = [
        f'.TH FIELDMEND 1 "" "fieldmend {__version__}" "User Commands"',
        ".SH NAME",
        r"fieldmend \- recover what a sensor network lost, flag what is false",
        ".SH SYNOPSIS",
        r".B fieldmend",
        r"\fICOMMAND\fR [\fIFILE\fR...] [\fIOPTIONS\fR]",
        ".SH DESCRIPTION",
        *_paragraphs((group.help or "").split("Exit codes")[0]),
        ".SH COMMANDS",
    ]
    for name, command in group.commands.items():
        lines += [f".SS fieldmend {_roff(name)}", *_paragraphs(command.help or "")]
        for parameter in command.params:
            if parameter.name not in ("help", "ctx"):
                lines += [".TP", _name(parameter), _roff(parameter.help or "")]
    lines.append(".SH EXIT STATUS")
    for code, meaning in CODES.items():
        lines += [".TP", f".B {code}", _roff(meaning)]
    lines.append(".SH ENVIRONMENT")
    for name, meaning in ENVIRONMENT.items():
        lines += [".TP", f".B {name}", _roff(meaning)]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            yield from (".PP", ".nf", ".RS")
            yield from (_roff(line.strip()) for line in paragraph.split("\n")[1:])
            yield from (".RE", ".fi")
        elif paragraph.strip() and "Examples" not in paragraph[:20]:
            yield from (".PP", _roff(paragraph.strip().replace("\n", " ")))


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return rf"\fI{_roff(parameter.metavar)}\fR..."
    off = parameter.secondary_opts
    value = "" if off or parameter.is_flag else rf" \fI{_roff(str(parameter.metavar))}\fR"
    return ", ".join(rf"\fB{_roff(name)}\fR{value}" for name in [*parameter.opts, *off])


def _roff(text: str) -> str:
    """Text that groff prints as it is: hyphens to be copied, no line that it takes for an order."""
    text = re.sub(r"\[/?bold\]", "", text).replace("\\", r"\e").replace("-", r"\-")
    text = text.replace("'", r"\(aq").replace("^", r"\(ha").replace("~", r"\(ti")
    return rf"\&{text}" if text.startswith(".") else text
