"""A script in a folder, run in this process on the tests' session, and looked at without Spark."""

from __future__ import annotations

import json
import textwrap
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.oracle.tables import read_table

from penstock.config import load_script
from penstock.errors import PenstockError
from penstock.events import Event, EventType, read_events
from penstock.graph.identifier import Identifier
from penstock.observe.status.pipeline_status import DatasetStatus, project_status
from penstock.runtime import UpdateOutcome
from penstock.runtime.script import run_script
from penstock.storage import StorageLayout


@dataclass(slots=True)
class ScriptRun:
    """How one run ended; `notices` are the conditions that were told, in their order."""

    outcome: UpdateOutcome
    events: list[Event]
    notices: list[dict[str, Any]] = field(default_factory=list)

    @property
    def errors(self) -> tuple[PenstockError, ...]:
        return self.outcome.errors

    @property
    def told(self) -> list[str]:
        return [str(each["condition"]) for each in self.notices]

    def input_rows(self, query: str) -> int:
        """How many rows all batches of a query took in."""
        batches = [each for each in self.events if each.origin.flow_name == query and each.origin.batch_id is not None]
        return sum(each.details["flow_progress"]["metrics"]["num_input_rows"] for each in batches)

    def error(self, condition: str) -> PenstockError:
        """Returns the one error of the run, which must be of this condition."""
        assert [each.condition for each in self.errors] == [condition], [str(each) for each in self.errors]
        return self.errors[0]

    def fine(self) -> ScriptRun:
        """Returns itself; an error fails the test."""
        assert self.errors == (), [f"{each} {each.location}" for each in self.errors]
        return self


@dataclass(slots=True)
class ScriptProject:
    """A folder with scripts; each has its own storage below it."""

    directory: Path
    spark: SparkSession

    def run(
        self,
        code: str,
        *arguments: str,
        name: str = "app",
        stop_when: Callable[[ScriptProject], bool] | None = None,
    ) -> ScriptRun:
        """Runs a script with this text; `DIR` in it is the folder.

        It is asked to stop when `stop_when` is true after a query's batch or change of state, and after a minute in any
        case.
        """
        stop = threading.Event()
        limit = threading.Timer(60, stop.set)
        limit.start()
        file = self.directory / f"{name}.py"
        file.write_text(textwrap.dedent(code).replace("DIR", str(self.directory)), encoding="utf-8")
        events: list[Event] = []

        def on_event(event: Event) -> None:
            events.append(event)
            if event.event_type is EventType.FLOW_PROGRESS and stop_when is not None and stop_when(self):
                stop.set()

        outcome = run_script(load_script(file), file, arguments, on_event=on_event, stop=stop, spark=self.spark)
        limit.cancel()
        notices = [dict(event.error) for event in events if event.error and event.level.value == "WARN"]
        return ScriptRun(outcome, events, notices)

    def has_rows(self, folder: str, count: int) -> bool:
        """Whether the Delta table in a folder has this many rows at least."""
        place = self.directory / folder
        return DeltaTable.is_deltatable(str(place)) and len(read_table(place)) >= count

    def table(self, schema: str, name: str) -> str:
        """Returns where a table that a script knows by name is stored."""
        return self.layout().table(Identifier(schema, name))

    def arrive(self, name: str, rows: list[dict[str, Any]], folder: str = "in") -> None:
        """Lets one JSON file arrive, whole."""
        target = self.directory / folder
        target.mkdir(exist_ok=True)
        hidden = target / f".{name}.tmp"
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        hidden.rename(target / f"{name}.json")

    def rows(self, folder: str, *columns: str) -> list[tuple[Any, ...]]:
        """Returns the sorted rows of the Delta table in a folder of the project."""
        return sorted(tuple(row[column] for column in columns) for row in read_table(self.directory / folder))

    def layout(self, name: str = "app") -> StorageLayout:
        return StorageLayout(load_script(self.directory / f"{name}.py").storage)

    def status(self, dataset: str, name: str = "app") -> DatasetStatus:
        """What `penstock status` shows of what a query fills."""
        found = project_status(read_events(self.layout(name).uri)).dataset(dataset)
        assert found is not None
        return found
