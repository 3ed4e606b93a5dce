"""`cloudFiles.allowOverwrites` in a run: what a file holds now is read, once."""

from __future__ import annotations

from tests.spark.pipeline_project import PipelineProject

from penstock.events import UpdateState


def test_a_file_that_stopped_its_batch_is_corrected(project: PipelineProject) -> None:
    project.write("""
        @dlt.table
        def loaded():
            files = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json").schema("id LONG")
            files = files.option("cloudFiles.allowOverwrites", "true").load("in")
            return files.where("100 div (99 - id) IS NOT NULL")
    """)
    project.arrive("good", [{"id": 1}])
    project.arrive("bad", [{"id": 99}])
    assert project.run().state is UpdateState.FAILED
    project.arrive("bad", [{"id": 3}])
    assert project.run().state is UpdateState.COMPLETED
    assert project.rows("loaded", "id") == [1, 3], "no loss is reported, and the file is read once"
    project.arrive("good", [{"id": 2}])
    update = project.run()
    assert project.rows("loaded", "id") == [1, 2, 3]
    assert [event.message for event in project.events(update) if "before it was whole" in event.message] == []
