"""Which letters the bytes of a text are."""

import codecs
import re

from fieldmend.errors import InputError
from fieldmend.text import shown

FEW = 4  # bytes above 7F that show how letters are written
EAST = re.compile(r"[\u3000-\u9fff\uac00-\ud7ff\uff01-\uff60]")
TOGETHER = re.compile(r"[\u3041-\u9fff\uac00-\ud7ff]{2,}")
KANA = re.compile(r"[\u3041-\u30ff]")
NARROW = re.compile(r"[\uff61-\uff9f]")  # half a letter wide: what Latin letters become


def named(encoding: str) -> str:
    """The encoding of that name, or what to write instead."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)  # some codecs are none of text
    except (LookupError, ValueError) as error:
        raise InputError(
            f"encoding={shown(encoding)!r} is not known", hint="Such as cp932, gb18030 or latin-1"
        ) from error
    return name


def found(head: bytes, name: str) -> str:
    """The encoding of a text that begins so; `name` is the file's, for messages."""
    marked = _marked(head)
    if marked:
        return marked
    if head.count(0) > 0.3 * max(1, len(head)):
        raise InputError("it is not text", file=name, hint="Hand in CSV, Parquet, NDJSON or netCDF")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return _not_utf8(head, name)
    return "utf-8"


def _marked(head: bytes) -> str:
    """UTF-16 and its kin, by their mark or by their zeros; empty if it is neither."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    even, odd = (half.count(0) / max(1, len(half)) for half in (head[::2], head[1::2]))
    if odd > 0.4 and even < 0.1:  # Latin letters in two bytes each, the second of them zero
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 and odd < 0.1 else ""


def _not_utf8(head: bytes, name: str) -> str:
    several = _of_two_bytes(head)
    # A file that has sound UTF-8 beside the broken bytes is UTF-8 with bad rows; letters of two
    # bytes may make some by chance.
    sound = [letter for letter in codecs.decode(head, "utf-8", "ignore") if letter > "\x7f"]
    high = sum(byte > 0x7F for byte in head)
    if sound and (not several or 2 * len("".join(sound).encode()) > high):
        return "utf-8"
    if several == ["cp932"]:
        return "cp932"
    if several:
        raise InputError(
            "letters of several bytes, and nothing tells their encoding",
            file=name,
            hint=f"Name it with encoding= (--encoding {several[0]}; or {', '.join(several[1:])})"
            if several[1:]
            else f"Name it with encoding= (--encoding {several[0]})",
        )
    # Bytes 80 to 9F are letters on Windows and control characters in Latin-1.
    return "cp1252" if re.search(rb"[\x80-\x9f]", head) else "latin-1"


def _of_two_bytes(head: bytes) -> list[str]:
    """East Asian encodings that the bytes may be in; empty if they are letters of one byte each.

    In Latin letters a byte above 7F stands alone, mostly before a letter or a blank; in these two
    and two go together. Japanese is told by its kana, or by Shift-JIS alone being possible.
    """
    high = re.findall(rb"[\x80-\xff]+", head)
    if sum(map(len, high)) < FEW:
        return []
    cut = head[: head.rfind(b"\n") + 1] or head  # a letter may be cut at the end
    decoded: dict[str, str] = {}
    for encoding in ("cp932", "gb2312", "big5", "euc_kr", "gb18030"):
        if encoding == "gb18030" and decoded:
            continue  # nearly anything can be read by it
        try:
            text = cut.decode(encoding)
        except UnicodeDecodeError:
            continue
        wide = sum(letter > "\x7f" for letter in text)
        east = len(EAST.findall(text))
        together = sum(map(len, TOGETHER.findall(text)))
        if east * 2 > wide and together * 2 > east:
            decoded[encoding] = text
    japanese = decoded.get("cp932", "")
    kana, narrow = len(KANA.findall(japanese)), len(NARROW.findall(japanese))
    if japanese and (kana > narrow or (len(decoded) == 1 and not narrow)):
        return ["cp932"]
    return list(decoded)
