"""The command ``fieldmend``: parse, call the library, print.

`run` (from arguments to an exit code), `app` and `studies` (the commands and their options),
`source` (the options that say how to read), `help` (Typer bent to fit), `recovering`,
`inspecting`, `demo`, `evaluating`, `reproducing` (what the commands do), `outputs` (which files),
`screen`, `story` and `words` (what is printed), `progress`.
"""

from fieldmend.cli.run import main

__all__ = ["main"]
