"""A program that registers tables as a run does, without Spark: a kill test can afford one for each point.

`python -m tests.faults.registering PROJECT NAME=FOLDER…` is one run of the pipeline whose tables these are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from penstock.config import load_project
from penstock.events import EventLog, EventType, UpdateState, builders
from penstock.events.log.event_log import new_update_id
from penstock.registration.follower import Registration


@contextmanager
def run_of(project: Path, *, close_seconds: float = 10.0) -> Iterator[EventLog]:
    """Yields the log of a run, which registration follows."""
    config = load_project(project)
    log = EventLog.open(config.storage, pipeline_name=config.name, update_id=new_update_id())
    with log, Registration(config, log, close_seconds=close_seconds):
        yield log


def declare(log: EventLog, tables: Mapping[str, str]) -> None:
    """Appends what a run says of its tables, `schema.name` with the folder, once they are set up."""
    for name, path in tables.items():
        built = builders.dataset_definition(name, dataset_type="STREAMING_TABLE", path=path)
        log.append(EventType.DATASET_DEFINITION, *built, dataset=name)
    log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(UpdateState.RUNNING, pipeline="shop"))


def register(project: Path, tables: Mapping[str, str], *, close_seconds: float = 10.0) -> None:
    """Registers the tables in one run."""
    with run_of(project, close_seconds=close_seconds) as log:
        declare(log, tables)


if __name__ == "__main__":
    register(Path(sys.argv[1]), dict(each.split("=", 1) for each in sys.argv[2:]))
