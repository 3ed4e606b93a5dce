"""What advice on settings needs of a real run: recorded limits, the partitions of the state, files of each batch."""

from __future__ import annotations

from tests.spark.pipeline_project import PipelineProject

from penstock.care.doctor.facts import read_facts
from penstock.care.tuning.file_counts import read_file_counts
from penstock.care.tuning.tuning import tune
from penstock.cli.doctor_settings import settings_of

PIPELINE = """
@ps.table
def orders():
    return (
        spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 2).option("multiLine", "false").json("in")
        .dropDuplicates(["id"])
    )
"""


def test_a_run_records_what_advice_on_settings_needs(project: PipelineProject) -> None:
    project.write(PIPELINE)
    for number in range(5):
        project.arrive(str(number), [{"id": 10 * number + each} for each in range(10)])
    assert project.run().errors == ()

    config = project.config
    facts = read_facts(config.storage, settings_of(config))
    [flow] = facts.history.flows
    assert list(flow.definition.limits.values()) == [{"maxFilesPerTrigger": "2"}]
    assert facts.partitions_of(flow) == int(project.spark.conf.get("spark.sql.shuffle.partitions") or 0)
    assert read_file_counts(facts) == {"shop.orders": (2, 2, 1)}
    assert [batch.progress.num_input_rows for batch in flow.with_rows] == [20, 20, 10]
    advised = {(each.setting, each.flow): each for each in tune(config.storage, settings_of(config)).settings}
    files = advised["maxFilesPerTrigger", "shop.orders"]
    assert (files.now, files.evidence) == ("2", "3 batches with rows, 20 are needed.")
