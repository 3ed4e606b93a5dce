"""Twenty clients of `penstock serve` while a continuous run writes: speed, and no half batch."""

from __future__ import annotations

import json
import re
import statistics
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive
from tests.cli_runner import own_process, running

_PIPELINE = """
import penstock as ps


@ps.table
def arriving():
    return spark.readStream.schema("id BIGINT").json("data")


@ps.materialized_view
def million():
    return spark.range(1_000_000).selectExpr("id", "id % 100 AS kind")
"""
_ROWS_OF_A_FILE = 100
_CLIENTS = 20
_FILES = 40


def _add_file(folder: Path, number: int) -> None:
    first = number * _ROWS_OF_A_FILE
    new = folder / f".{number}.json"
    new.write_text("\n".join(json.dumps({"id": each}) for each in range(first, first + _ROWS_OF_A_FILE)))
    new.rename(folder / "data" / f"{number}.json")


class _Client(threading.Thread):
    """Asks until it is stopped; `wrong` is what it should not have seen."""

    def __init__(self, port: int, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._port, self._done = port, stop
        self.counts: list[int] = []
        self.wrong: list[object] = []

    def run(self) -> None:
        try:
            with hive.connect("127.0.0.1", self._port, username="reader", database="shop") as connection:
                cursor = connection.cursor()
                while not self._done.is_set():
                    cursor.execute("SELECT count(*), count(DISTINCT id), coalesce(max(id), -1) FROM arriving")
                    [(count, different, highest)] = cursor.fetchall()
                    if count % _ROWS_OF_A_FILE or count != different or count != highest + 1:
                        self.wrong.append((count, different, highest))
                    self.counts.append(count)
        except Exception as error:  # noqa: BLE001 - the test shows it
            self.wrong.append(error)


def _seconds_of_count(port: int, clients: int) -> list[float]:
    taken: list[float] = []
    together = threading.Barrier(clients)

    def ask() -> None:
        with hive.connect("127.0.0.1", port, username="reader", database="shop") as connection:
            cursor: Any = connection.cursor()
            cursor.execute("SELECT 1")
            cursor.fetchall()
            together.wait(60)
            started = time.monotonic()
            cursor.execute("SELECT count(*) FROM million")
            assert cursor.fetchall() == [(1_000_000,)]
            taken.append(time.monotonic() - started)

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(taken) == clients
    return taken


@pytest.mark.slow
def test_no_client_sees_half_a_batch_while_a_run_writes(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "pipeline.py").write_text(_PIPELINE)
    (tmp_path / "penstock.yml").write_text(
        json.dumps({"name": "orders", "schema": "shop", "serve": {"port": 0}, "trigger": "1 second"})
    )
    _add_file(tmp_path, 0)
    own_process("run", tmp_path, "--trigger", "available_now").expect(0)
    with running("serve", tmp_path) as serving:
        assert serving.process.stdout is not None
        found = re.search(r":(\d+)/shop", serving.process.stdout.readline())
        assert found is not None
        port = int(found[1])
        for _ in range(3):
            _seconds_of_count(port, _CLIENTS)
        alone, together = _seconds_of_count(port, 1), _seconds_of_count(port, _CLIENTS)
        with running("run", tmp_path) as writing:
            stop = threading.Event()
            clients = [_Client(port, stop) for _ in range(_CLIENTS)]
            for client in clients:
                client.start()
            for number in range(1, _FILES):
                _add_file(tmp_path, number)
                time.sleep(0.5)
            last = clients[0].counts
            writing.wait_for(lambda: bool(last) and last[-1] == _FILES * _ROWS_OF_A_FILE, what="the last file")
            stop.set()
            for client in clients:
                client.join(60)
    assert [client.wrong for client in clients] == [[]] * _CLIENTS
    for client in clients:
        assert client.counts == sorted(client.counts)
    seen = {count for client in clients for count in client.counts}
    assert len(seen) > 3, "clients asked while batches were committed"
    queries = sum(len(client.counts) for client in clients)
    print(
        f"count(*) of 1 M rows: alone {alone[0]:.2f} s, {_CLIENTS} at once median {statistics.median(together):.2f} s, "
        f"slowest {max(together):.2f} s; while written {queries} queries saw {len(seen)} versions"
    )
    assert statistics.median(together) < 5
