"""The two things that every query needs: an identifier quoted, one row fetched."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb


def quoted(identifier: str) -> str:
    """An identifier for SQL. The only place where one is quoted."""
    return '"' + identifier.replace('"', '""') + '"'


def one(con: "duckdb.DuckDBPyConnection", sql: str, params: object = None) -> tuple[Any, ...]:
    """The one row of a query that has one, with nothing left open on the connection."""
    rows = con.execute(sql, params).fetchall()
    return rows[0] if rows else ()
