"""A snapshot of state that is damaged or gone: Spark does without where the changes are there, else the flow ends."""

from __future__ import annotations

import json
from pathlib import Path

from tests.spark.pipeline_project import PipelineProject
from tests.spark.state_snapshots import EACH_BATCH, await_snapshots, snapshots_soon
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.storage.checkpoint.snapshots import MOST_CHANGES_REPLAYED

CODE = f"""
@dlt.table(spark_conf={dict(EACH_BATCH)})
def counts():
    return spark.readStream.schema("id LONG").json("in").groupBy("id").count()
"""
_REPAIR = "spark.sql.streaming.stateStore.autoSnapshotRepair"


class _Counts:
    """The flow with its state; each file that arrives has the same ids, so that each state is another one."""

    def __init__(self, project: PipelineProject) -> None:
        self._project = project
        self.checkpoint = project.directory / ".penstock/checkpoints/shop/counts/counts/0"
        self.runs = 0
        project.write(CODE)

    def run(self) -> list[str]:
        """Runs with one more file; returns the conditions of what failed, else waits for the snapshots."""
        self.runs += 1
        self._project.arrive(str(self.runs), [{"id": number} for number in range(8)])
        return self.run_again()

    def run_again(self) -> list[str]:
        """Runs with the files that are there."""
        conditions = [error.condition for error in self._project.run().errors]
        if not conditions:
            counted = dict.fromkeys(range(8), self.runs)
            assert self._project.rows("counts", "id", "count") == sorted(counted.items())
            await_snapshots(self.checkpoint, self.runs)
        return conditions

    def findings(self) -> list[tuple[str, str]]:
        """What `penstock checkpoint verify` says."""
        done = CliRunner().invoke(app, ["checkpoint", "verify", str(self._project.directory), "--json"])
        found = json.loads(done.stdout)["findings"]
        return [(each["condition"], each["message"].removesuffix(".").rpartition("/")[2]) for each in found]

    def state(self, partition: int, name: str) -> Path:
        """Returns a file of the state."""
        return self.checkpoint / f"state/0/{partition}" / name


def test_a_snapshot_that_is_damaged_is_done_without_or_ends_the_flow(project: PipelineProject) -> None:
    with snapshots_soon(project.spark):
        counts = _Counts(project)
        assert [counts.run(), counts.run()] == [[], []]

        # An archive that is empty, and one whose rows are gone.
        counts.state(0, "2.zip").write_bytes(b"")
        counts.state(0, ".2.zip.crc").write_bytes(b"")
        for part in counts.state(1, "SSTs").iterdir():
            part.unlink()
        assert counts.findings() == []
        assert counts.run() == []

        # No snapshot at all: from an empty state.
        for partition in (0, 1):
            for snapshot in counts.state(partition, "").glob("*.zip"):
                snapshot.unlink()
        assert counts.findings() == []
        assert counts.run() == []

        # Nothing leads around a damaged one when changes are gone.
        kept = {each: each.read_bytes() for each in (counts.state(0, "4.zip"), counts.state(0, "3.changelog"))}
        counts.state(0, "4.zip").write_bytes(b"")
        counts.state(0, "3.changelog").unlink()
        assert counts.findings() == [("CHECKPOINT_FILE_DAMAGED", "4.zip")]
        assert counts.run() == ["CHECKPOINT_STATE_NOT_LOADED"]
        for path, content in kept.items():
            path.write_bytes(content)
        assert counts.run_again() == []
        assert counts.findings() == []


def test_what_spark_does_without_is_what_it_says(project: PipelineProject) -> None:
    assert project.spark.conf.get(f"{_REPAIR}.enabled") == "true"
    assert project.spark.conf.get(f"{_REPAIR}.maxChangeFileReplay") == str(MOST_CHANGES_REPLAYED)
