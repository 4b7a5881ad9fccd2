"""Clean rows and alerts into tables of PostgreSQL (or Timescale): Grafana reads them there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fieldmend.errors import InputError
from fieldmend.live.targets.target import Json, Unsent

TABLES = """
CREATE TABLE IF NOT EXISTS fieldmend_clean (
  slot timestamptz NOT NULL, network text NOT NULL, node text NOT NULL, condition text NOT NULL,
  rev smallint NOT NULL, observed double precision, estimate double precision,
  lower double precision, upper double precision, flag smallint NOT NULL, model text,
  PRIMARY KEY (slot, network, node, condition, rev));
CREATE TABLE IF NOT EXISTS fieldmend_alert (
  id bigint NOT NULL, state text NOT NULL, network text NOT NULL, node text NOT NULL,
  condition text NOT NULL, kind text NOT NULL, since timestamptz NOT NULL, text text NOT NULL,
  said jsonb NOT NULL, PRIMARY KEY (network, id, state, since));
"""
# Ids begin at 1 in each state: `since` keeps the alerts of one begun anew apart from the old ones.
COLUMNS = "slot network node condition rev observed estimate lower upper flag model".split()


class Tables:
    """Two tables, made if they are not there; a row that is there already stays.

    Parameters
    ----------
    address
        postgresql://host/database, without a password: libpq finds it in PGPASSWORD or ~/.pgpass.
    network
        What alerts are said to be of.
    """

    rows = True

    def __init__(self, address: str, network: str) -> None:
        parts = urlsplit(address)
        if parts.password or "password" in parse_qs(parts.query):
            raise InputError(
                "a password in an address ends in logs", hint="Set PGPASSWORD, or write ~/.pgpass"
            )
        try:
            import psycopg
        except ImportError as error:
            raise InputError(
                "PostgreSQL needs psycopg", hint="pip install 'fieldmend[postgres]'"
            ) from error
        self._address, self._network, self._psycopg = address, network, psycopg
        self.name = f"postgresql://{parts.hostname or ''}{parts.path}"
        self._connection: Any = None

    def send(self, rows: Sequence[Json], alerts: Sequence[Json]) -> None:
        """One transaction."""
        try:
            connection = self._connected()
            with connection.transaction(), connection.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO fieldmend_clean ({', '.join(COLUMNS)}) VALUES "
                    f"({', '.join(['%s'] * len(COLUMNS))}) ON CONFLICT DO NOTHING",
                    [[row[name] for name in COLUMNS] for row in rows],
                )
                cursor.executemany(
                    "INSERT INTO fieldmend_alert VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) "
                    "ON CONFLICT DO NOTHING",
                    [
                        [one["id"], one["state"], self._network, one["node"], one["condition"],
                         one["kind"], one["since"], one["text"], json.dumps(one)]
                        for one in alerts
                    ],
                )  # fmt: skip
        except self._psycopg.Error as error:
            self.close()
            raise Unsent(str(error)) from error

    def status(self, said: Json) -> None:
        """Nothing."""

    def close(self) -> None:
        """No more."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connected(self) -> Any:
        if self._connection is None:
            self._connection = self._psycopg.connect(
                self._address, autocommit=True, client_encoding="utf8"
            )
            self._connection.execute(TABLES)
        return self._connection
