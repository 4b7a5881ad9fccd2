"""Alerts by POST, one JSON object each. The address is a secret: it comes from a file."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

from fieldmend.errors import InputError
from fieldmend.live.targets.target import Json, Unsent

PATIENCE = 15.0  # seconds


class Webhook:
    """Alerts to an address.

    Parameters
    ----------
    file
        Its first line is the address.

    Raises
    ------
    InputError
        Where it is none.
    """

    rows = False

    def __init__(self, file: Path) -> None:
        try:
            self._url = file.read_text("utf-8").strip().partition("\n")[0].strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"no address there ({error})", file=str(file)) from None
        parts = urlsplit(self._url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError("its first line is no http address", file=str(file))
        # The path may be the secret: neither name nor message has it.
        self._shown = f"{parts.scheme}://{parts.hostname}"
        tag = blake2b(self._url.encode(), digest_size=4).hexdigest()
        self.name = f"webhook {parts.hostname} {tag}"

    def send(self, rows: Sequence[Json], alerts: Sequence[Json]) -> None:
        """One POST an alert."""
        for one in alerts:
            request = urllib.request.Request(
                self._url,
                json.dumps(one).encode(),
                {
                    "Content-Type": "application/json",
                    "Idempotency-Key": f"{one['id']}-{one['state']}",
                },
            )
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE):
                    pass
            except urllib.error.HTTPError as error:
                error.close()
                raise Unsent(f"{self._shown} answers {error.code}") from None
            except OSError as error:
                raise Unsent(f"{self._shown}: {getattr(error, 'reason', error)}") from None

    def status(self, said: Json) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""
