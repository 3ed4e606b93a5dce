"""A program that registers tables as a run does, without Spark: a kill test can afford one for each point.

`python -m tests.faults.registering PROJECT NAME=FOLDER…` is one run of the pipeline whose tables these are.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from penstock.config import load_project
from penstock.events import EventLog, EventType, UpdateState, builders
from penstock.events.log.event_log import new_update_id
from penstock.registration.follower import Registration


def register(project: Path, tables: Mapping[str, str], *, close_seconds: float = 10.0) -> None:
    """Registers the tables, by `schema.name`, with the events in which a run declares them."""
    config = load_project(project)
    log = EventLog.open(config.storage, pipeline_name=config.name, update_id=new_update_id())
    with log, Registration(config, log, close_seconds=close_seconds):
        for name, path in tables.items():
            built = builders.dataset_definition(name, dataset_type="STREAMING_TABLE", path=path)
            log.append(EventType.DATASET_DEFINITION, *built, dataset=name)
        running = builders.update_progress(UpdateState.RUNNING, pipeline=config.name)
        log.append(EventType.UPDATE_PROGRESS, *running)


if __name__ == "__main__":
    register(Path(sys.argv[1]), dict(each.split("=", 1) for each in sys.argv[2:]))
