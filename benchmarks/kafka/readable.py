"""When the rows of a Delta table could be read first: from its log, after the run, so that nothing is disturbed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy
from pyarrow import parquet


@dataclass(frozen=True, slots=True)
class Readable:
    """The rows of a table in the order of its commits: each one's number, and the seconds from `sent` to its commit."""

    ids: numpy.ndarray
    seconds: numpy.ndarray
    commits: int

    @classmethod
    def of(cls, table: Path) -> Readable:
        """Reads the commits of a table to which rows were only added; a commit can be read when its file is there."""
        ids, seconds, commits = [], [], 0
        for commit in sorted((table / "_delta_log").glob("*.json")):
            files = [
                found["add"]["path"] for line in commit.read_text().splitlines() if "add" in (found := json.loads(line))
            ]
            commits += bool(files)
            for file in files:
                rows = parquet.read_table(table / file, columns=["id", "sent"])
                ids.append(rows["id"].to_numpy())
                seconds.append(commit.stat().st_mtime - rows["sent"].to_numpy() / 1000)
        if not ids:
            return cls(numpy.array([], dtype="int64"), numpy.array([]), 0)
        return cls(numpy.concatenate(ids), numpy.concatenate(seconds), commits)

    def has_each(self, rows: int) -> bool:
        """Whether the numbers from 0 are there, each once."""
        return len(self.ids) == rows and bool((numpy.sort(self.ids) == numpy.arange(rows)).all())

    def percentile(self, share: float, *, from_id: int) -> float:
        """Returns a percentile of the seconds of rows with this number and later ones."""
        return round(float(numpy.percentile(self.seconds[self.ids >= from_id], share)), 3)


def rows_of(table: Path) -> int:
    """Returns how many rows the commits of a table have added, by their statistics: quick enough to ask often."""
    count = 0
    for commit in (table / "_delta_log").glob("*.json"):
        for line in commit.read_text().splitlines():
            if '"add"' in line and (stats := json.loads(line).get("add", {}).get("stats")):
                count += json.loads(stats)["numRecords"]
    return count
