"""A table whose data files are gone is named with the first of them, in a query and in the flow that reads it."""

from __future__ import annotations

import pytest
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import PenstockError
from penstock.events import UpdateState
from penstock.runtime.commands.query import run_sql

PIPELINE = """
    @dlt.table
    def orders():
        return spark.readStream.schema("id INT, paid BOOLEAN").json("in")

    @dlt.table
    def paid():
        return spark.read.table("orders").where("paid")
"""


def test_missing_data_files_are_named(project: PipelineProject) -> None:
    project.arrive("1", [{"id": 1, "paid": True}])
    project.write(PIPELINE)
    assert project.run().state is UpdateState.COMPLETED
    table = project.path("orders")
    files = sorted(table.glob("*.parquet"))
    for file in files:
        file.unlink()
    expected = {"file": str(files[0]), "missing": str(len(files)), "total": str(len(files))}
    outcome = project.run(full_refresh=("paid",))
    assert [error.condition for error in outcome.errors] == ["DATA_FILES_MISSING"]
    assert outcome.errors[0].dataset == "shop.paid"
    assert expected.items() <= outcome.errors[0].facts.items()
    with pytest.raises(PenstockError) as raised:
        run_sql(project.config, "SELECT * FROM orders", spark=project.spark)
    assert raised.value.condition == "DATA_FILES_MISSING"
    assert expected.items() <= raised.value.facts.items()
