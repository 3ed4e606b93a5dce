"""A project as Apache Spark's own `spark-pipelines init` writes it, run without an edit."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.pipelines.init_cli import init
from tests.cli_runner import own_process, penstock
from tests.oracle.tables import assert_table, stored

pytestmark = pytest.mark.usefixtures("one_process")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    init("my project")
    return tmp_path / "my project"


@pytest.mark.timeout(600)
def test_a_new_project_of_spark_pipelines_runs_as_it_is(project: Path) -> None:
    report = penstock("validate", project, "--json").expect(0).document
    assert [(each["name"], each["type"], each["inputs"]) for each in report["datasets"]] == [
        ("default.example_python_materialized_view", "MATERIALIZED_VIEW", []),
        ("default.example_sql_materialized_view", "MATERIALIZED_VIEW", ["default.example_python_materialized_view"]),
    ]
    planned = penstock("plan", project, "--json").expect(0).document
    assert "example_sql_materialized_view" in str(planned["stages"])
    penstock("run", project).expect(0)
    storage = project / "pipeline-storage"
    rows = [{"id": number} for number in range(10)]
    assert_table(stored(storage, "default", "example_python_materialized_view"), rows)
    assert_table(stored(storage, "default", "example_sql_materialized_view"), rows[::2])
    assert list(project.glob(".penstock")) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_configuration_reaches_the_session_when_it_starts(project: Path) -> None:
    (project / "transformations" / "settings.py").write_text(
        "from pyspark import pipelines as dp\n\n"
        "NAMES = ('spark.sql.warehouse.dir', 'spark.app.greeting', 'greeting', 'spark.sql.session.timeZone')\n\n"
        "@dp.materialized_view\n"
        "def settings():\n"
        "    rows = [(name, spark.conf.get(name)) for name in NAMES]\n"
        "    return spark.createDataFrame(rows, 'name string, value string')\n"
    )
    given = {
        "spark.sql.warehouse.dir": f"file:{project}/warehouse",  # cannot be changed on a running session
        "spark.app.greeting": "hello",
        "greeting": "hello again",
        "spark.sql.session.timeZone": "Asia/Tokyo",
    }
    with (project / "spark-pipeline.yml").open("a") as file:
        file.write("configuration:\n" + "".join(f"  {name}: '{value}'\n" for name, value in given.items()))
    own_process("run", project, "--refresh", "settings").expect(0)
    rows = [{"name": name, "value": value} for name, value in given.items()]
    assert_table(stored(project / "pipeline-storage", "default", "settings"), rows)
