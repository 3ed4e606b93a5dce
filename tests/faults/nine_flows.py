"""The six flows and three kinds more, on a cluster: an update, a materialized view and a sink in PostgreSQL."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.faults.six_flows import KINDS, PIPELINE, Row, SixFlows, Tables, file_rows
from tests.oracle.tables import differences, read_table, stored
from tests.postgres_server import PostgresServer

MORE: Final = {"update": "totals", "materialized view": "gold", "JDBC sink": "log"}
NINE: Final = {**KINDS, **MORE}
"""The nine kinds of flows, each with its table."""

_GROUPS: Final = 7
_MORE_FLOWS: Final = f"""

import penstock as ps


@ps.table(output_mode="update", keys=["k"])
def totals():
    rows = files().select((sf.col("id") % {_GROUPS}).alias("k"), "amount")
    return rows.groupBy("k").agg(sf.count("*").alias("n"), sf.sum("amount").alias("total"))


@dlt.table(spark_conf={{"pipelines.trigger.interval": "2 seconds"}})
def gold():
    rows = spark.read.table("orders").select((sf.col("id") % {_GROUPS}).alias("k"), "amount")
    return rows.groupBy("k").agg(sf.count("*").alias("n"), sf.sum("amount").alias("total"))


ps.create_sink("log", "jdbc", {{**PLACE, "dbtable": "log"}})


@ps.append_flow(target="log")
def logged():
    return files().select("id", "amount")
"""


def _totals(rows: list[Row]) -> list[Row]:
    counts: Counter[int] = Counter()
    totals: Counter[int] = Counter()
    for row in rows:
        counts[row["id"] % _GROUPS] += 1
        totals[row["id"] % _GROUPS] += row["amount"]
    return [{"k": k, "n": counts[k], "total": totals[k]} for k in counts]


class NineFlows(SixFlows):
    """The pipeline, whose runs each have a folder of their own and share `storage` and `input`."""

    def __init__(
        self, directory: Path, postgres: PostgresServer, settings: Mapping[str, Any], *, files_a_batch: int
    ) -> None:
        self._postgres = postgres
        place = f"PLACE = {postgres.options!r}\n"
        self.code = PIPELINE.replace('json("in")', f'json("{directory / "in"}")') + place + _MORE_FLOWS
        super().__init__(directory, files_a_batch=files_a_batch)
        document = {"name": "nine", "schema": "shop", "storage": str(self.storage), **settings}
        (directory / "penstock.yml").write_text(json.dumps(document))  # JSON is YAML

    @property
    def storage(self) -> Path:
        """Where the tables, the checkpoints and the events are."""
        return self.directory / "storage"

    def copy_to(self, folder: Path) -> Path:
        """Copies the pipeline's files, and nothing else, into a new folder; returns it."""
        folder.mkdir(parents=True)
        for name in ("pipeline.py", "penstock.yml"):
            shutil.copy(self.directory / name, folder)
        return folder

    def differing(self, wanted: Tables | None = None) -> dict[str, str]:
        """Returns how the tables differ from what they must hold, by kind of flow."""
        found = super().differing(wanted)
        rows = [row for number in range(self.files) for row in file_rows(number)]
        totals = _totals(rows)
        for kind, right in (("update", totals), ("materialized view", totals)):
            if lines := differences(read_table(stored(self.storage, "shop", MORE[kind])), right):
                found[kind] = f"{MORE[kind]}: " + "\n".join(lines)
        logged = [{"id": number, "amount": amount} for number, amount in self._postgres.rows("SELECT * FROM log")]
        if lines := differences(logged, rows, ("id", "amount")):
            found["JDBC sink"] = "log: " + "\n".join(lines)
        return found
