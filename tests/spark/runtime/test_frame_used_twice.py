"""A streaming frame that stands twice in one query is read twice, each time under a name of its own."""

from __future__ import annotations

from typing import Any

from tests.oracle.tables import read_table
from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject

from penstock.graph.identifier import Identifier

PIPELINE = """
@ps.table
def states():
    return spark.readStream.schema("id LONG, state STRING, at TIMESTAMP").json("in")

@ps.view
@ps.expect_or_drop("known", "state IS NOT NULL")
def known():
    rows = spark.readStream.schema("id LONG, state STRING, at TIMESTAMP").json("in")
    return rows.where("state = 'paid'").union(rows.where("state = 'sent'"))

@ps.table
def united():
    rows = ps.read_stream("known")
    return rows.where("id > 1").unionByName(rows.where("id = 1"))

@ps.table
def of_sql():
    return spark.sql(
        "WITH o AS (SELECT * FROM STREAM states) "
        "SELECT id FROM o WHERE state = 'paid' UNION ALL SELECT id FROM o WHERE state = 'sent'"
    )
"""


def arrive(project: PipelineProject, name: str, *rows: tuple[int, str, str]) -> None:
    project.arrive(name, [{"id": number, "state": state, "at": f"2026-03-01T{at}Z"} for number, state, at in rows])


def test_each_place_is_a_source_of_its_own_with_its_own_progress(project: PipelineProject) -> None:
    page = blocks(ROOT / "docs/how-to/join-streams.md")
    [with_itself] = [block.text for block in page if "def sent_in_time" in block.text]
    project.write(PIPELINE + with_itself)
    arrive(project, "0", (1, "paid", "10:00:00"), (2, "paid", "10:10:00"), (2, "sent", "10:20:00"))
    graph = project.validate().graph
    assert graph is not None
    (joined,) = graph.flows_to(Identifier("shop", "sent_in_time"))
    assert joined.stream is not None
    assert joined.stream.sources == {"states": "shop.states", "states_2": "shop.states"}
    (united,) = graph.flows_to(Identifier("shop", "united"))
    assert united.stream is not None
    assert sorted(united.stream.sources) == ["json_in", "json_in_2", "json_in_3", "json_in_4"]

    assert project.run().errors == ()
    arrive(project, "1", (1, "sent", "10:30:00"), (3, "paid", "15:00:00"))
    assert project.run().errors == ()
    arrive(project, "2", (4, "paid", "09:00:00"), (3, "sent", "15:30:00"))
    assert project.run().errors == ()

    assert project.rows("united", "id") == [1, 1, 2, 2, 3, 3, 4]
    assert project.rows("of_sql", "id") == [1, 1, 2, 2, 3, 3, 4]
    assert project.rows("sent_in_time", "id") == [1, 2, 3]
    late: list[dict[str, Any]] = read_table(project.path("sent_in_time__late"))
    assert [(row["id"], row["_late_operator"]) for row in late] == [(4, "stream-stream join, left side")]
    assert not [event for event in project.events() if event.error is not None]
