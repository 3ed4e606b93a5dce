"""Times the dashboard over a long event log: `python -m benchmarks.dashboard [--megabytes N] [--viewers N]`.

`penstock ui` is started as people start it. The log is one continuous update of many tables, as a run writes it. Timed
are: the process until it answers; the first page, made of the totals; the pages once the whole log is read; an
event from its line in the log until a page that follows the live stream holds it; `penstock status` without a log, over
a short one, and over the long one: first when nobody has summed it up, as no run leaves it, then from its totals.
With `--viewers`, so many connections follow and fetch the overview while `--events` a minute are written.
With `--datasets`, Chromium shows the overview of so many of them.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import psutil

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.dashboard.in_a_browser import browser_timings
from benchmarks.dashboard.long_log import LogWriter

_PAGES: Final = {
    "overview": "/",
    "dataset": "/datasets/shop.table_0007",
    "flow": "/flows/shop.table_0007",
    "updates": "/updates",
    "events": "/events",
    "figures": "/series?dataset=shop.table_0007",
}


def main() -> None:
    parser = parser_of("dashboard", __doc__)
    parser.add_argument("--megabytes", type=int, default=1000, help="length of the log")
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--viewers", type=int, default=0, help="connections that follow the pages; 0 leaves this out")
    parser.add_argument("--events", type=int, default=10_000, help="events a minute while they follow")
    parser.add_argument("--seconds", type=int, default=20, help="how long they follow")
    parser.add_argument("--datasets", type=int, default=0, help="datasets that Chromium shows; 0 leaves this out")
    parser.add_argument("--repeat", type=int, default=5, help="of the commands; pages are fetched three times as often")
    given = parse(parser)
    folder = Path(tempfile.mkdtemp(dir=given.work))
    try:
        runs = _measure(folder, given)
    finally:
        shutil.rmtree(folder)
    names = ("megabytes", "tables", "viewers", "events", "seconds", "datasets", "repeat")
    publish("dashboard", {name: getattr(given, name) for name in names}, runs, given.results)


def _measure(folder: Path, given: argparse.Namespace) -> list[dict[str, Any]]:
    tables: int = given.tables
    runs: list[dict[str, Any]] = []

    def note(what: str, value: float, goal: float | None = None, unit: str = "s") -> None:
        runs.append({"what": what, "value": round(value, 3), "goal": goal, "unit": unit})
        print(f"{what}: {value:.3f} {unit}", flush=True)

    empty = min(_status(folder / "none") for _ in range(given.repeat))
    note("penstock status, no log", empty)
    short = folder / "short"
    writer = LogWriter(short, tables)
    writer.define()
    writer.rounds(1 << 20)
    note("penstock status, log of 1 MB", min(_status(short) for _ in range(given.repeat)), 0.5)

    storage = folder / "long"
    writer = LogWriter(storage, tables)
    writer.define()
    writer.rounds(given.megabytes << 20)
    note(f"penstock status, log of {given.megabytes:,} MB without totals", _status(storage))
    again = min(_status(storage) for _ in range(given.repeat))
    note(f"penstock status, log of {given.megabytes:,} MB", again, 0.5)
    note("of it because of the log", again - empty)
    totals = storage / "events" / "_totals"
    note("totals", totals.stat().st_size / (1 << 20), unit="MB")
    with _dashboard(storage) as (url, process, started), httpx.Client(timeout=30) as client:
        note("process until it answers", time.monotonic() - started)
        began = time.monotonic()
        page = client.get(url).text
        note("first page", time.monotonic() - began, 0.5)
        assert page.count('id="dataset-') == tables
        if given.megabytes >= 8:  # a shorter log has no totals yet, and its first page is of what is read so far
            assert "Failed" in page  # its process is gone, and the newest event says when
            assert "States and sums are those of now" in page
        while "The event log is being read" in client.get(url).text:
            time.sleep(0.5)
        note("whole log read", time.monotonic() - started)
        note("events in it", writer.events, unit="")
        for name, path in _PAGES.items():
            client.get(url + path)
            times = [_timed(client, url + path, storage) for _ in range(3 * given.repeat)]
            note(f"{name}, median", statistics.median(times), 0.5)
            note(f"{name}, slowest", max(times), 0.5)
        overview = client.get(url)
        note("overview", len(overview.content) / 1e6, unit="MB")
        note("overview, as it is sent", overview.num_bytes_downloaded / 1e6, unit="MB")
        delays = [_event_to_screen(url, client, writer) for _ in range(5)]
        note("event to screen, slowest", max(delays), 1.0)
        note("memory of the process", process.memory_info().rss / 1e6, 150, "MB")
        if given.viewers:
            for what, value in _viewed(url, writer, given):
                note(what, value, unit="s" if "page of" in what else "")
            note("memory with viewers", process.memory_info().rss / 1e6, 150, "MB")
    for what, value, goal in _in_a_browser(folder / "wide", given.datasets):
        note(what, value, goal)
    return runs


def _in_a_browser(storage: Path, datasets: int) -> Iterator[tuple[str, float, float]]:
    if datasets:
        writer = LogWriter(storage, datasets)
        writer.define()
        writer.append_round()
        with _dashboard(storage) as (url, _, _):
            for what, value, goal in browser_timings(url, writer):
                yield f"{datasets:,} datasets in a browser, {what}", value, goal


def _status(storage: Path) -> float:
    began = time.monotonic()
    command = [sys.executable, "-m", "penstock.cli", "status", "--storage", str(storage)]
    subprocess.run(command, check=True, capture_output=True, cwd=_project(storage), env=_environment())
    return time.monotonic() - began


def _environment() -> dict[str, str]:
    """Lets Python keep what it compiles, as an installation has it, also where the benchmark itself may not."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _project(storage: Path) -> Path:
    folder = storage.parent / "project"
    folder.mkdir(exist_ok=True)
    (folder / "penstock.yml").write_text("name: long\n")
    return folder


@contextmanager
def _dashboard(storage: Path) -> Iterator[tuple[str, psutil.Process, float]]:
    command = [sys.executable, "-m", "penstock.cli", "ui", "--port", "0", "--storage", str(storage)]
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=_project(storage),
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        told = ""
        while "http" not in told:
            told = process.stdout.readline()
        yield re.findall(r"http://\S+", told)[0].rstrip("/"), psutil.Process(process.pid), started
    finally:
        process.terminate()
        process.wait(20)


def _timed(client: httpx.Client, address: str, storage: Path) -> float:
    """A page that nobody has asked for: another query is another page for the dashboard."""
    mark = f"{'&' if '?' in address else '?'}n={time.monotonic_ns()}"
    began = time.monotonic()
    assert client.get(address + mark).status_code == 200
    return time.monotonic() - began


def _follow(url: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    connection.request("GET", "/live")
    return connection, connection.getresponse()


def _next(response: http.client.HTTPResponse) -> str:
    while True:
        line = response.readline().decode().strip()
        if line.startswith("data: "):
            return line


def _event_to_screen(url: str, client: httpx.Client, writer: LogWriter) -> float:
    connection, response = _follow(url)
    _next(response)
    time.sleep(0.3)
    began = time.monotonic()
    writer.append_round()
    _next(response)
    client.get(url + "/")
    took = time.monotonic() - began
    connection.close()
    return took


def _viewed(url: str, writer: LogWriter, given: argparse.Namespace) -> Iterator[tuple[str, float]]:
    """Every viewer follows the stream and fetches the overview when it is told to, as a browser does."""
    until = time.monotonic() + given.seconds
    fetched: list[float] = []
    failed: list[str] = []

    def view() -> None:
        try:
            connection, response = _follow(url)
            pages = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
            while time.monotonic() < until:
                _next(response)
                began = time.monotonic()
                pages.request("GET", "/", headers={"Accept-Encoding": "gzip"})
                pages.getresponse().read()
                pages.close()  # else the server closes it when it is idle for long, as it may
                fetched.append(time.monotonic() - began)
            connection.close()
        except OSError as error:
            failed.append(str(error))

    threads = [threading.Thread(target=view, daemon=True) for _ in range(given.viewers)]
    for thread in threads:
        thread.start()
    a_round = 2 * writer.tables
    while time.monotonic() < until:
        writer.append_round()
        time.sleep(60 * a_round / given.events)
    while any(thread.is_alive() for thread in threads) and time.monotonic() < until + 60:
        writer.append_round()  # each waits for one more change before it looks at the clock
        time.sleep(0.5)
    assert not failed, failed[:3]
    yield f"pages fetched by {given.viewers} viewers", float(len(fetched))
    yield "page of a viewer, median", statistics.median(fetched)
    yield "page of a viewer, slowest of a hundred", sorted(fetched)[int(len(fetched) * 0.99) - 1]


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "200")
    main()
