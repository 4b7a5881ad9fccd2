"""The command ``fieldmend``: parse, call the library, print.

`run` (from arguments to an exit code), `app` (the commands and their options), `source` (the
options that say how to read), `recovering`, `inspecting`, `demo` (what the commands do), `outputs`
(which files, and whether they can be written), `screen` and `story` (what is printed), `progress`.
"""

from fieldmend.cli.run import main

__all__ = ["main"]
