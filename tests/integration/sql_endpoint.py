"""A `penstock serve` that has started: where it answers, and what it says."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from dataclasses import dataclass
from typing import Any

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
