"""A watermark that stands still although rows arrive, in a running flow."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.spark.pipeline_project import PipelineProject

from penstock.cli.screen.status_view import problems
from penstock.events import EventType, Level
from penstock.observe.status.pipeline_status import project_status

PIPELINE = """
def seen(folder):
    rows = spark.readStream.schema("id LONG, at TIMESTAMP").option("maxFilesPerTrigger", 1).json(folder)
    return rows.withWatermark("at", "1 minute")

@dlt.table
def windows():
    return seen("busy").unionByName(seen("silent")).groupBy(F.window("at", "5 minutes")).count().select("count")
"""
START = datetime(2026, 1, 1, tzinfo=UTC)


def arrive(project: PipelineProject, folder: str, *minutes: int) -> None:
    for at in minutes:
        project.arrive(f"{at:04}", [{"id": at, "at": (START + timedelta(minutes=at)).isoformat()}], folder)


def test_a_standing_watermark_is_told_of(project: PipelineProject) -> None:
    project.write(PIPELINE)
    arrive(project, "silent", 0)
    arrive(project, "busy", 0, 6, 12)
    assert project.run().errors == ()
    assert [event for event in project.events() if event.event_type is EventType.WATERMARK] == []
    arrive(project, "busy", 18, 24)
    assert project.run().errors == ()
    [told] = [event for event in project.events() if event.event_type is EventType.WATERMARK]
    assert (told.level, told.origin.flow_name) == (Level.WARN, "windows")
    assert told.details["watermark"]["state"] == "HELD_BACK"
    assert told.error is not None
    assert told.error["condition"] == "WATERMARK_HELD_BACK"
    assert "'json_silent' delivered nothing" in told.error["message"]
    status = project_status(project.events())
    assert any("json_silent" in line for lines in problems(status) for line in lines)
    arrive(project, "silent", 30)
    arrive(project, "busy", 31)
    assert project.run().errors == ()
    states = [
        event.details["watermark"]["state"] for event in project.events() if event.event_type is EventType.WATERMARK
    ]
    assert states == ["HELD_BACK", "MOVING"]
    assert list(problems(project_status(project.events()))) == []
