"""Whatever happens to a pipeline, in whatever order: its tables, its quarantine and its counters are the model's.

Hypothesis chooses what happens; a failure prints the steps that led to it.
"""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import psutil
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from pyspark.sql import SparkSession
from tests.cli_runner import running
from tests.faults.evidence import write_evidence
from tests.faults.modelled_shop import CODE, FLOWS, Model, Row, bad, counters, order
from tests.faults.table import RecordProperty
from tests.processes import wait_until
from tests.spark.pipeline_project import PipelineProject

from penstock.graph.identifier import Identifier
from penstock.runtime import UpdateOutcome
from penstock.runtime.commands.manual_maintenance import optimize_tables, vacuum_tables
from penstock.spark._jvm import jvm

_SEEDS = st.integers(0, 2**32 - 1)
_MOST_NOTES = 3


class History(RuleBasedStateMachine):
    """Files arrive, a pipeline runs, its process dies, people look after its tables; in any order."""

    spark: ClassVar[SparkSession]
    steps: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.project = PipelineProject(Path(self._folder.name), self.spark)
        self.project.write(CODE.format(options=""))
        self.model = Model()
        self.arrived: list[list[Row]] = []
        self.unread: list[Row] = []
        self.minute = 60
        self.orders = 0
        self.notes = 0
        self.died = False
        self.runs = 0  # since everything was read anew
        self.unoptimized = self.unvacuumed = False
        self.updates: list[UpdateOutcome] | None = []

    @rule(seed=_SEEDS)
    def a_file_arrives(self, seed: int) -> None:
        self._arrive(seed, minutes=15)

    @rule(seed=_SEEDS)
    def a_file_arrives_late(self, seed: int) -> None:
        self._arrive(seed, minutes=-60)

    @rule(seed=_SEEDS)
    def bad_rows_arrive(self, seed: int) -> None:
        self._arrive(seed, minutes=5, share_of_bad=0.7)

    @precondition(lambda self: self.notes < _MOST_NOTES)
    @rule(seed=_SEEDS)
    def a_file_with_a_new_column_arrives(self, seed: int) -> None:
        self.notes += 1
        self._arrive(seed, minutes=5)

    @precondition(lambda self: self.unread or self.died)
    @rule()
    def it_runs(self) -> None:
        self._run()

    @precondition(lambda self: self.model.bronze and not self.died)
    @rule(seed=_SEEDS)
    def it_died_before_the_checkpoint_knew_the_batch(self, seed: int) -> None:
        """As if the last run had been killed when each of these flows had committed its rows."""
        random = Random(seed)
        for flow in random.sample(FLOWS, random.randint(1, len(FLOWS))):
            generations = self.project.directory / f".penstock/checkpoints/shop/{flow}/{flow}"
            newest = _newest(_newest(generations) / "commits")
            for file in (newest, newest.with_name(f".{newest.name}.crc")):
                file.unlink(missing_ok=True)
        self.died = True
        self.steps["it died"] += 1

    @precondition(lambda self: self.unoptimized)
    @rule()
    def its_tables_are_optimized(self) -> None:
        self.unoptimized = False
        optimize_tables(self.project.config, self._tables(), progress=lambda _: None, spark=self.spark)
        self._check("optimized")

    @precondition(lambda self: self.unvacuumed)
    @rule()
    def its_tables_are_vacuumed(self) -> None:
        self.unvacuumed = False
        vacuum_tables(self.project.config, self._tables(), progress=lambda _: None, spark=self.spark)
        self._check("vacuumed")

    @precondition(lambda self: self.runs > 1)
    @rule()
    def everything_is_refreshed(self) -> None:
        """All files are there still; as they come as one batch, none of their rows is late."""
        self.model, self.updates, self.runs = Model(), [], 0
        self.unread = [row for rows in self.arrived for row in rows]
        self._run(full_refresh_all=True)

    def teardown(self) -> None:
        try:
            if self.unread or self.died:
                self._run()
        finally:
            jvm(self.spark).org.apache.spark.sql.delta.DeltaLog.clearCache()
            self._folder.cleanup()

    def _arrive(self, seed: int, *, minutes: int, share_of_bad: float = 0.1) -> None:
        random, rows = Random(seed), list[Row]()
        for _ in range(random.randint(1, 6)):
            self.orders += 1
            minute = self.minute + (random.randrange(minutes) if minutes > 0 else minutes)
            row = order(random, self.orders, minute, notes=self.notes)
            rows.append(bad(random, row) if random.random() < share_of_bad else row)
        self.minute += max(minutes, 0)
        rows += random.sample(rows, 1) if random.random() < 0.5 else []
        self.project.arrive(f"{len(self.arrived):03}", rows)
        self.arrived.append(rows)
        self.unread += rows
        self.steps["a file arrived"] += 1

    def _run(self, **options: Any) -> None:
        update = self.project.run(**options)
        assert update.errors == ()
        self.model.run(self.unread)
        self.unread, self.died, self.runs = [], False, self.runs + 1
        self.unoptimized = self.unvacuumed = True
        if self.updates is not None:
            self.updates.append(update)
        self._check("refreshed in full" if options else "run")

    def _check(self, step: str) -> None:
        self.steps[step] += 1
        assert self.model.differences(self.project) == []
        if self.updates is not None:
            wanted = {"dropped": self.model.dropped, "late": self.model.late, "repeated": self.model.repeated}
            assert counters(self.project, self.updates) == wanted

    def _tables(self) -> dict[Identifier, str]:
        names = (*FLOWS, "gold", "silver__quarantine")
        return {Identifier("shop", name): str(self.project.path(name)) for name in names}


class KilledHistory(History):
    """The process is really killed, anywhere in a run; an event that it had not written yet counts no rows."""

    @precondition(lambda self: self.unread)
    @rule(seconds=st.floats(0, 12))
    def it_is_killed(self, seconds: float) -> None:
        _ = self.project.config  # writes the pipeline file
        with running("run", self.project.directory) as command:
            java = command.jvm()
            with suppress(subprocess.TimeoutExpired):
                command.process.wait(seconds)
            if command.process.poll() is None:
                command.signal(signal.SIGKILL)
                wait_until(lambda: _is_gone(java), timeout=10, what="the JVM to end with its Python")
                self.steps["it was killed"] += 1
        self.updates = None
        self._run()


def test_a_history_with_everything_in_it(spark: SparkSession) -> None:
    History.spark = spark
    history = History()
    try:
        history.a_file_arrives(1)
        history.bad_rows_arrive(3)
        history.it_runs()
        history.it_died_before_the_checkpoint_knew_the_batch(3)
        history.a_file_with_a_new_column_arrives(5)
        history.a_file_arrives_late(7)
        history.its_tables_are_optimized()
        history.its_tables_are_vacuumed()
        history.it_runs()
        counts = (history.model.late, history.model.repeated, history.model.dropped, len(history.model.aside))
        assert counts == (2, 1, 1, 4), "there is something of everything"
        history.everything_is_refreshed()
    finally:
        history.teardown()


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("kind", "examples"), [(History, 20), (KilledHistory, 10)])
def test_any_history(spark: SparkSession, kind: type[History], examples: int, record_property: RecordProperty) -> None:
    History.spark = spark
    kind.steps = Counter()
    # A failing history is printed with its seed; to make it shorter would take hours.
    chosen = settings(max_examples=examples, stateful_step_count=12, phases=[Phase.generate], print_blob=True)
    try:
        run_state_machine_as_test(kind, settings=chosen)
    finally:
        print(dict(kind.steps))
    name = "histories" if kind is History else "killed-histories"
    record_property(name, examples)
    write_evidence(name, {"histories": examples, "steps": dict(kind.steps), "failures": 0})


def _newest(folder: Path) -> Path:
    """Returns the entry with the highest number for a name."""
    return max((entry for entry in folder.iterdir() if entry.name.isdecimal()), key=lambda entry: int(entry.name))


def _is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
