"""Workers whose Python is another than the driver's: the first Python function says so, with both versions."""

from __future__ import annotations

import platform

import pytest
from tests.spark.pipeline_project import PipelineProject

_OWN = ".".join(platform.python_version_tuple()[:2])


def test_another_python_of_the_workers_is_named_and_nothing_is_lost(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("""
        @F.udf("long")
        def doubled(number):
            return 2 * number

        @dlt.table
        def rows():
            return spark.readStream.schema("id LONG").json("in").select(doubled("id").alias("id"))
        """)
    project.arrive("1", [{"id": 1}])
    assert project.run().errors == ()
    project.arrive("2", [{"id": 2}])
    with monkeypatch.context() as of_another_driver:
        of_another_driver.setattr(project.spark.sparkContext, "pythonVer", "3.9")
        update = project.run()
    [error] = update.errors
    assert (error.condition, error.facts) == ("PYTHON_VERSION_DIFFERS", {"worker": _OWN, "driver": "3.9"})
    assert (error.exit_code, error.retryable) == (2, False)
    assert project.statuses(update, "rows")[-1] == "FAILED"
    assert project.rows("rows", "id") == [2]
    assert project.run().errors == ()
    assert project.rows("rows", "id") == [2, 4]
