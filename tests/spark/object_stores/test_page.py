"""docs/how-to/object-stores.md: its pipeline runs as it is printed; supplied are the settings of an S3 on loopback."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from tests.integration.s3_server import S3Server
from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject

from penstock.testing.crash import forget_newest_commits


@pytest.mark.slow
def test_the_page_runs_and_goes_on_after_a_crash(project: PipelineProject, s3: S3Server, spark: SparkSession) -> None:
    (python,) = [block.text for block in blocks(ROOT / "docs/how-to/object-stores.md") if block.kind == "python"]
    (project.directory / "pipeline.py").write_text(python)
    s3.bucket("lake")
    s3.put("lake", "raw/orders/a b.json", [{"id": 1, "amount": 5}, {"id": 2, "amount": 0}])
    s3.put("lake", "reference/products/1.json", [{"product": "tea", "price": 2.5}])

    def in_the_lake(place: str = "orders") -> list[int]:
        return sorted(row.id for row in spark.read.format("delta").load(f"s3a://lake/{place}").collect())

    assert project.run().errors == ()
    [product] = spark.read.format("delta").load("s3a://lake/tables/products").collect()
    assert (product["product"], product["price"]) == ("tea", 2.5)
    s3.put("lake", "raw/orders/c.json", [{"id": 3, "amount": 7}])
    assert project.run().errors == ()
    assert (in_the_lake("tables/orders"), in_the_lake()) == ([1, 2, 3], [1, 3])
    checkpoints = [str(path.parent) for path in (project.directory / ".penstock/checkpoints").rglob("commits")]
    assert len(checkpoints) == 2
    forget_newest_commits(dict.fromkeys(checkpoints, 0))
    s3.put("lake", "raw/orders/d.json", [{"id": 4, "amount": 9}])
    assert project.run().errors == ()
    assert (in_the_lake("tables/orders"), in_the_lake()) == ([1, 2, 3, 4], [1, 3, 4])
