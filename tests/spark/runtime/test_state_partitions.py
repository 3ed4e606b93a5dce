"""State is divided into as many partitions as there were when it was made, whatever the settings say later."""

from __future__ import annotations

from tests.spark.pipeline_project import PipelineProject

PIPELINE = """
@ps.table(spark_conf={{"spark.sql.shuffle.partitions": "{partitions}"}})
def orders():
    return spark.readStream.schema("id LONG").json("in").dropDuplicates(["id"])
"""


def test_fewer_partitions_forget_nothing(project: PipelineProject) -> None:
    for number, partitions in enumerate((3, 1)):
        project.write(PIPELINE.format(partitions=partitions))
        project.arrive(str(number), [{"id": each} for each in range(40 * (number + 1))])
        assert project.run().errors == ()
    assert project.rows("orders", "id") == list(range(80)), "each id once: the state knows all earlier ones"
    told = [event.message for event in project.events() if "partitions" in event.message]
    assert told == [
        "shop.orders is STARTING: its state has 3 partitions and keeps them; spark.sql.shuffle.partitions is 1"
    ]
