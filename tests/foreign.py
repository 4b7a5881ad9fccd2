"""Files as strangers have them, for the tests: written, and what was said of them."""

from datetime import timedelta

HOUR = timedelta(hours=1)


def written(tmp_path, text, name="x.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


def rows_from(start):
    """A function that makes lines, an hour between them, from a moment on."""

    def rows(form, count=30, step=HOUR):
        return "".join(form(i, start + i * step) + "\n" for i in range(count))

    return rows


def said(origin):
    return " ".join((*origin.notes, *origin.warnings))
