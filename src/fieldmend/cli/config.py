"""A file of options: ``--config site.toml``, and ``fieldmend config`` that writes one."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer

from fieldmend.text import shown

PATHS = ("files", "out", "model", "save_model", "locations", "decisions")
"""Options that name files: from where the configuration lies, as cron starts at home."""
NOT_THERE = ("config", "help", "ctx")
HEAD = """\
# fieldmend recover --config {name}
#
# All options of 'fieldmend recover'; those that are commented out have their defaults, shown.
# Paths are from where this file lies. What is given on the command line counts first.
"""


def obey(ctx: typer.Context, path: Path | None) -> Path | None:
    """The callback of ``--config``: its options are the defaults of this run."""
    if path is not None:
        ctx.default_map = {**(ctx.default_map or {}), **load(path, ctx.command.params)}
    return path


def load(path: Path, parameters: Sequence[Any]) -> dict[str, Any]:
    """Options of a command by name, from a file; each is known and of the right kind."""
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise typer.BadParameter(f"--config {path}: there is no such file") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise typer.BadParameter(f"--config {path}: it is no TOML ({error})") from error
    known = {_key(one): one for one in parameters if one.name not in NOT_THERE}
    sections = {_section(one) for one in known.values()}
    out: dict[str, Any] = {}
    for key, value in _flat(given, sections):
        option = known.get(key.replace("_", "-"))
        if option is None:
            raise typer.BadParameter(
                f"{path}: there is no option {shown(key)!r}{_near(key, known)}"
            )
        if option.name in out:
            raise typer.BadParameter(f"{path}: {key} is there twice")
        if value == "":  # as good as not there
            continue
        out[option.name] = _located(path, option.name, _value(path, key, value, option))
    return out


def _flat(given: Mapping[str, Any], sections: set[str]) -> Iterator[tuple[str, Any]]:
    """Keys and values, whatever heading they stand under."""
    for key, value in given.items():
        if isinstance(value, Mapping) and key in sections:
            yield from value.items()
        else:
            yield key, value


def _near(key: str, known: Mapping[str, Any]) -> str:
    close = get_close_matches(key.replace("_", "-"), known, 1)
    return f". Did you mean {close[0]!r}?" if close else ""


def _value(path: Path, key: str, value: Any, option: Any) -> Any:
    """What the command line would have given."""
    if is_flag(option):
        if not isinstance(value, bool):
            raise typer.BadParameter(f"{path}: {key} is true or false, not {value!r}")
        return value
    if takes_many(option):
        if isinstance(value, Mapping):
            return [f"{name}={_text(path, key, one)}" for name, one in value.items()]
        return [_text(path, key, one) for one in (value if isinstance(value, list) else [value])]
    return _text(path, key, value)


def _text(path: Path, key: str, value: Any) -> str:
    if isinstance(value, list) and len(value) == 2 and key == "limits":
        return ":".join(_text(path, key, one) for one in value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        if hasattr(value, "isoformat"):  # TOML has moments of its own
            return str(value.isoformat())
        raise typer.BadParameter(f"{path}: {key} = {shown(value)}: write a text or a number")
    return str(value)


def _located(path: Path, name: str, value: Any) -> Any:
    """A path from where the configuration lies."""
    if name == "to" and value.startswith("sqlite:///"):
        return f"sqlite:///{path.parent / value.removeprefix('sqlite:///')}"
    if name not in PATHS:
        return value
    if isinstance(value, list):
        return [_located(path, name, one) for one in value]
    if value == "-" or "://" in value or value.startswith("~"):
        return str(Path(value).expanduser()) if value.startswith("~") else value
    return str(path.parent / value)


def is_flag(option: Any) -> bool:
    """True for what is there or not."""
    return bool(getattr(option, "is_flag", False) or getattr(option, "secondary_opts", ()))


def takes_many(option: Any) -> bool:
    """True for what may be repeated, and for the files."""
    return bool(getattr(option, "multiple", False)) or option.nargs == -1


def written(
    ctx: typer.Context, found: Mapping[str, tuple[Any, str]], name: str = "site.toml"
) -> str:
    """A configuration in TOML: what was given, what was found, and all else as a comment.

    Parameters
    ----------
    ctx
        Of a command that has the options of ``recover``.
    found
        Option → what the file shows, and the remark that stands beside it.
    name
        Of the file, for its first line.
    """
    given = {p.name for p in ctx.command.params if _was_given(ctx, p.name)}
    lines = [HEAD.format(name=name)]
    section = ""
    for option in sorted(_options(ctx), key=_section):
        if _section(option) != section:
            section = _section(option)
            lines.append(f"\n[{section}]")
        lines += [f"# {line}" for line in _wrapped(option.help or "")]
        key = _key(option)
        if option.name in given:
            lines.append(f"{key} = {_toml(ctx.params[option.name], option)}")
        elif option.name in found:
            value, remark = found[option.name]
            lines.append(f"{key} = {_toml(value, option)}  # {remark}")
        else:
            lines.append(f"# {key} = {_toml(_default(option), option)}")
    return "\n".join(lines) + "\n"


def _options(ctx: typer.Context) -> list[Any]:
    return [one for one in ctx.command.params if one.name not in NOT_THERE]


def _was_given(ctx: typer.Context, name: str) -> bool:
    return str(ctx.get_parameter_source(name)).rpartition(".")[2] in ("COMMANDLINE", "DEFAULT_MAP")


def _key(option: Any) -> str:
    """The long name of an option, without its dashes: ``slot-value``."""
    if option.param_type_name == "argument":
        return "files"
    return str(max(option.opts, key=len)).removeprefix("--")


def _section(option: Any) -> str:
    panel = getattr(option, "rich_help_panel", None)
    return str(panel).casefold().replace(" ", "-") if panel else ""


def _default(option: Any) -> Any:
    if is_flag(option):
        return bool(option.default)
    if takes_many(option):
        return []
    return "" if option.default is None else getattr(option.default, "value", option.default)


def _toml(value: Any, option: Any) -> str:
    """A value as TOML writes it."""
    value = getattr(value, "value", value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(one, option) for one in value)}]"
    if isinstance(value, bool) or value is None:
        return str(bool(value)).lower()
    if isinstance(value, int | float):
        return repr(value)
    plain = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in plain) + '"'


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, 96)
