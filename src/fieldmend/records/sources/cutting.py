"""A line cut into cells, and what cells look like."""

import csv
import re

BLANKS = "blanks"  # any run of blanks is one delimiter
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
STAMP = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(\b|(?=T\d))")


def split(line: str, delimiter: str) -> list[str]:
    """The cells of one line."""
    if delimiter == BLANKS:
        return line.split()
    if '"' not in line:
        return line.split(delimiter)
    return next(csv.reader([line], delimiter=delimiter), [])
