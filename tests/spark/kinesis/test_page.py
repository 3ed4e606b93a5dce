"""docs/how-to/kinesis.md: its pipeline runs as it is printed; supplied is the address of a Kinesis on loopback."""

from __future__ import annotations

import json

from tests.integration.kinesis_server import KinesisServer
from tests.integration.moto_server import ACCESS_KEY, REGION, SECRET_KEY
from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject


def test_the_page_runs(project: PipelineProject, kinesis: KinesisServer) -> None:
    page = blocks(ROOT / "docs/how-to/kinesis.md")
    (python,) = [block.text for block in page if block.kind == "python"]
    (sql,) = [block.text for block in page if block.kind == "sql"]
    supplied = {"endpointUrl": kinesis.endpoint, "awsAccessKey": ACCESS_KEY, "awsSecretKey": SECRET_KEY}
    options = "".join(f'.option("{name}", "{value}")' for name, value in supplied.items())
    arguments = "".join(f", {name} => '{value}'" for name, value in supplied.items())
    in_python, in_sql = f'.option("region", "{REGION}")', f"region => '{REGION}'"
    assert (python.count(in_python), sql.count(in_sql)) == (1, 1)
    (project.directory / "pipeline.py").write_text(python.replace(in_python, in_python + options))
    (project.directory / "orders.sql").write_text(sql.replace(in_sql, in_sql + arguments))
    kinesis.create("orders", shards=2)
    kinesis.put("orders", [json.dumps({"order_id": f"o{number}", "amount": number - 2}) for number in range(10)])
    [broken] = kinesis.put("orders", ["no JSON"])
    assert project.run().errors == ()
    assert project.rows("orders", "order_id") == [f"o{number}" for number in range(3, 10)]
    assert len(project.rows("orders_in_sql", "text")) == 11
    told = [json.loads(each) for each in project.rows("orders__quarantine", "_rescued_data") if each]
    assert [each.pop("_shard") for each in told] in (["shardId-000000000000"], ["shardId-000000000001"])
    assert told == [{"_corrupt_record": "no JSON", "_stream": "orders", "_offset": broken}]
