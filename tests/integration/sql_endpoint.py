"""A `penstock serve` that has started: where it answers, and what it says."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from dataclasses import dataclass
from typing import Any

from pyhive import hive
from TCLIService import ttypes
from tests.cli_runner import Running


@dataclass(frozen=True)
class SqlEndpoint:
    """Its port, its health page (empty without one), and the lines of its stderr so far."""

    port: int
    health: str
    stderr: list[str]

    @classmethod
    def started(cls, command: Running, *, health: bool = True) -> SqlEndpoint:
        """Waits until it says where it answers; `health` says whether a health page is declared."""
        stdout, stderr = command.process.stdout, command.process.stderr
        assert stdout is not None
        assert stderr is not None
        said: list[str] = []
        threading.Thread(target=lambda: said.extend(stderr), daemon=True).start()
        found = re.search(r"jdbc:hive2://127\.0\.0\.1:(\d+)/shop", stdout.readline())
        assert found is not None, said
        return cls(int(found[1]), stdout.readline().split()[1] if health else "", said)


def state_of(health: str) -> dict[str, Any]:
    """Returns what a health page says."""
    with urllib.request.urlopen(health, timeout=10) as answer:
        return dict(json.load(answer))


def metadata(connection: Any, call: str, **arguments: Any) -> list[list[Any]]:
    """Returns the rows of a metadata call of Hive's protocol, such as GetTables.

    Raises:
        pyhive.exc.OperationalError: the server refuses it.
    """
    client = connection.client
    request = getattr(ttypes, f"T{call}Req")(connection.sessionHandle, **arguments)
    response = getattr(client, call)(request)
    hive._check_status(response)
    fetch = ttypes.TFetchResultsReq(response.operationHandle, ttypes.TFetchOrientation.FETCH_NEXT, 1000)
    columns = client.FetchResults(fetch).results.columns
    values = [next(value for value in vars(column).values() if value is not None).values for column in columns]
    return [list(row) for row in zip(*values, strict=True)]
