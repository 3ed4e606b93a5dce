"""The queries of docs/reference/sql-queries.md are analysed as they stand there."""

from __future__ import annotations

from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject

from penstock.graph.identifier import Identifier

QUERIES = [block.text for block in blocks(ROOT / "docs/reference/sql-queries.md") if block.kind == "sql"]


def test_the_queries_of_the_page(project: PipelineProject) -> None:
    (project.directory / "landing").mkdir()
    project.arrive("1", [{"id": 1, "amount": 2.5}], folder="landing/orders")
    orders = 'spark.readStream.schema("id INT, at TIMESTAMP, raw STRING").json("landing/orders")'
    code = [f"@dlt.table\ndef orders():\n    return {orders}\n"]
    code += [f"@dlt.table\ndef query_{n}():\n    return spark.sql({query!r})\n" for n, query in enumerate(QUERIES)]
    project.write("\n".join(code))
    report = project.validate()
    assert report.errors == ()
    assert report.graph is not None
    assert {str(report.graph.stored_schemas[Identifier("shop", "query_0")])} == {
        "amount decimal(10,2), id bigint, _rescued_data string, file_name string"
    }
    reads = {
        name.name: [each.name for flow in report.graph.flows_to(name) for each in flow.inputs]
        for name in report.graph.order
    }
    assert reads["query_2"] == ["kafka_orders"]
    assert all(flow.streaming for flow in report.graph.flows)
