"""What is said when input cannot be used."""

from fieldmend.text import shown


class InputError(ValueError):
    """Input that cannot be used.

    Its message says what is wrong, in which file and line, and what to try.

    Parameters
    ----------
    what : str
        What is wrong.
    file : str, optional
        The file, as the user named it.
    line : int, optional
        The line (text) or row (tables) in it, from 1.
    hint : str, optional
        What to try.

    Examples
    --------
    >>> print(InputError("no number", file="a.csv", line=7, hint="Try missing="))
    a.csv, line 7: no number. Try missing=
    """

    def __init__(
        self, what: str, *, file: str | None = None, line: int | None = None, hint: str = ""
    ) -> None:
        self.what, self.file, self.line, self.hint = what, file, line, hint
        where = "" if file is None else shown(file)
        if line is not None:
            where += f", line {line}"
        text = f"{where}: {what}" if where else what
        super().__init__(f"{text}. {hint}" if hint else text)
