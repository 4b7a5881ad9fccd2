"""Months by name: English, German, French and Spanish, long and short."""

import re

MONTHS = (
    "january|januar|jänner|janvier|enero|janv|jan|jän|ene",
    "february|februar|février|fevrier|febrero|févr|fevr|feb|fév|fev",
    "march|märz|maerz|mars|marzo|mar|mär|mrz|mrt",
    "april|avril|abril|apr|avr|abr",
    "may|mai|mayo",
    "june|juni|juin|junio|jun",
    "july|juli|juillet|julio|juil|jul",
    "august|août|aout|agosto|aug|aoû|ago",
    "september|septembre|septiembre|setiembre|sept|sep|set",
    "october|oktober|octobre|octubre|okt|oct",
    "november|novembre|noviembre|nov",
    "december|dezember|décembre|decembre|diciembre|dez|dec|déc|dic",
)
_MONTH = f"(?:{'|'.join(MONTHS)})"
_DAY = r"\d{1,2}(?:st|nd|rd|th|er|º)?"
_AFTER = r"(?:[ T,].*)?"
ORDERS = {
    "day, month by name": re.compile(
        rf"(?:[^\W\d]{{2,10}}[., ]+)?{_DAY}[-. /]+(?:de +)?{_MONTH}[-., /]+(?:del? +)?"
        rf"(?:\d{{4}}|\d\d){_AFTER}",
        re.IGNORECASE,
    ),
    "month by name, day": re.compile(
        rf"{_MONTH}[-. /]+{_DAY}[-., /]+\d{{4}}{_AFTER}", re.IGNORECASE
    ),
    "year, month by name": re.compile(
        rf"\d{{4}}[-. /]+{_MONTH}[-. /]+\d{{1,2}}{_AFTER}", re.IGNORECASE
    ),
}
_PARTS = {
    "day, month by name": (r"^\D*?(\d{1,2})\D+<(\d\d)>\D+(\d{4})(?:[ ,T]+(.*))?$", r"\3-\2-\1 \4"),
    "month by name, day": (r"^<(\d\d)>\D+(\d{1,2})\D+(\d{4})[ ,T]*(.*)$", r"\3-\1-\2 \4"),
    "year, month by name": (r"^(\d{4})\D+<(\d\d)>\D+(\d{1,2})[ ,T]*(.*)$", r"\1-\2-\3 \4"),
}


def iso_sql(order: str, cell: str) -> str:
    """SQL: the stamp with its date as 2024-01-31; what does not fit stays as it is."""
    pattern, parts = _PARTS[order]
    # A weekday goes first: "mar." is a Tuesday in French, and would be March.
    text = f"regexp_replace({cell}, '^[^0-9]+[., ]+([0-9])', '\\1')" if order[0] == "d" else cell
    for number, names in enumerate(MONTHS, 1):
        text = f"regexp_replace({text}, '(?i)\\b(?:{names})\\b\\.?', '<{number:02d}>')"
    if order[0] == "d":  # 10-Jan-23: as in POSIX, 69 to 99 are of the last century
        for years, century in (("(?:[0-5][0-9]|6[0-8])", 20), ("(?:69|[7-9][0-9])", 19)):
            text = f"regexp_replace({text}, '(>[^0-9]+)({years})($|[ ,T])', '\\1{century}\\2\\3')"
    return f"trim(regexp_replace({text}, '{pattern}', '{parts}'))"
