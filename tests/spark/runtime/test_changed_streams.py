from __future__ import annotations

import json

import pytest
from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import UpdateRefused
from penstock.plan.selection import RefreshSelection
from penstock.plan.stages import ResetTable, RunStreamingFlow
from penstock.runtime import plan_update

PIPELINE = """
@ps.table
def orders():
    return spark.readStream.schema("id LONG, product STRING, shop STRING, at TIMESTAMP").json("in")

@ps.table
def counts():
    hourly = F.window("at", "1 hour")
    return ps.read_stream("orders").withWatermark("at", "1 hour").groupBy(hourly, "{key}").count()
"""


def _order(number: int) -> dict[str, object]:
    return {"id": number, "product": "tea", "shop": f"s{number}", "at": f"2026-01-0{number}T10:00:00Z"}


def test_a_query_that_its_state_does_not_fit_is_refused_before_anything_is_written(project: PipelineProject) -> None:
    project.arrive("1", [_order(1), _order(2)])
    project.write(PIPELINE.format(key="product"))
    assert not project.run().errors
    before = project.rows("counts", "product", "count")
    assert before == [("tea", 1)], "the window of the second day is open"

    project.arrive("2", [_order(3)])
    project.write(PIPELINE.format(key="shop"))
    versions = {table: project.version(table) for table in ("orders", "counts")}
    planned = plan_update(project.config, RefreshSelection(), spark=project.spark).plan
    [refusal] = planned.refusals
    assert (refusal.condition, refusal.dataset) == ("CHECKPOINT_NOT_COMPATIBLE", "shop.counts")
    assert str(refusal.location).startswith("pipeline.py:")
    assert refusal.facts["rows"] == "2", "as many as would be read again"
    with pytest.raises(UpdateRefused) as refused:
        project.run()
    assert refused.value.errors[0].message == refusal.message
    assert {table: project.version(table) for table in versions} == versions

    # Put back, it goes on where it stopped.
    project.write(PIPELINE.format(key="product"))
    assert not project.run().errors
    assert project.rows("counts", "product", "count") == [("tea", 1), ("tea", 1)]

    project.write(PIPELINE.format(key="shop"))
    again = plan_update(project.config, RefreshSelection(full_refresh=("counts",)), spark=project.spark).plan
    [reset] = again.of_type(ResetTable)
    assert reset.explanation.endswith("; its flows have read 3 rows so far")
    assert not project.run(full_refresh=("counts",)).errors
    assert project.rows("counts", "shop", "count") == [("s1", 1), ("s2", 1)]
    again = plan_update(project.config, RefreshSelection(), spark=project.spark).plan
    assert again.refusals == (), "the new checkpoint has a note of the new query"


def test_a_compatible_change_goes_on_and_says_what_it_means(project: PipelineProject) -> None:
    code = 'return spark.readStream.schema("id LONG, product STRING, shop STRING, at TIMESTAMP").json("in")'
    project.arrive("1", [_order(1)])
    project.write(f"@ps.table\ndef orders():\n    {code}\n")
    assert not project.run().errors

    project.arrive("2", [_order(2), _order(3)])
    project.write(f"@ps.table\ndef orders():\n    {code}.where('id > 2')\n")
    assert _verdict(project) == "compatible"
    assert not project.run().errors
    assert _verdict(project) == "unchanged"
    assert project.rows("orders", "id") == [1, 3]

    # A checkpoint without a note, as an older version left it, is taken as it is.
    [note] = (project.directory / ".penstock" / "checkpoints").rglob("penstock.json")
    assert set(json.loads(note.read_text())) == {"definition", "flow"}
    for damaged in (None, "{torn"):
        note.unlink() if damaged is None else note.write_text(damaged)
        assert not project.run().errors
        assert set(json.loads(note.read_text())) == {"definition", "flow"}
    assert project.rows("orders", "id") == [1, 3]


def _verdict(project: PipelineProject) -> str:
    [flow] = plan_update(project.config, RefreshSelection(), spark=project.spark).plan.of_type(RunStreamingFlow)
    return flow.changes.verdict.value


TWO_STREAMS = """
def side(name):
    return spark.readStream.schema("id LONG, product STRING, shop STRING, at TIMESTAMP").json(name)

@ps.table(spark_conf={{{conf}}})
def pairs():
    left = side("in").withWatermark("at", "1 hour")
    right = side("other").select(F.col("id").alias("other"), "at").withWatermark("at", "1 hour")
    return left.join(right, on=[left.id == F.col("other"), left.at == right.at], how="inner").select("id")

@ps.table(spark_conf={{{conf}}})
def distinct():
    return side("in").withWatermark("at", "1 hour").dropDuplicates(["id", "at"])
"""
_POLICY, _CODEC = "spark.sql.streaming.multipleWatermarkPolicy", "spark.sql.streaming.stateStore.compression.codec"


def test_settings_that_the_checkpoint_keeps(project: PipelineProject) -> None:
    (project.directory / "other").mkdir()
    project.arrive("1", [_order(1)])
    project.write(TWO_STREAMS.format(conf=""))
    assert not project.run().errors

    project.write(TWO_STREAMS.format(conf=f"'{_POLICY}': 'max', '{_CODEC}': 'zstd'"))
    plan = plan_update(project.config, RefreshSelection(), spark=project.spark).plan
    [refusal] = plan.refusals
    assert (refusal.condition, refusal.dataset) == ("CHECKPOINT_NOT_COMPATIBLE", "shop.pairs"), "the other has one"
    assert f"{_POLICY} was min and is max" in refusal.message
    assert refusal.fix.endswith("penstock run --full-refresh shop.pairs")
    with pytest.raises(UpdateRefused):
        project.run()

    project.write(TWO_STREAMS.format(conf=f"'{_POLICY}': 'MIN', '{_CODEC}': 'zstd'"))
    project.arrive("2", [_order(2)])
    [distinct] = [
        flow.changes
        for flow in plan_update(project.config, RefreshSelection(), spark=project.spark).plan.of_type(RunStreamingFlow)
        if flow.dataset.name == "distinct"
    ]
    assert distinct.reasons == (f"its state keeps the {_CODEC} with which it began, lz4; zstd is for a new checkpoint",)
    assert not project.run().errors
    kept = project.directory / ".penstock/checkpoints/shop/distinct/distinct/0/offsets"
    newest = max(int(file.name) for file in kept.iterdir() if file.name.isdecimal())
    assert json.loads((kept / str(newest)).read_text().splitlines()[1])["conf"][_CODEC] == "lz4", "Spark's own word"


_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


def test_state_outside_of_rocksdb_is_chosen_before_the_first_run(project: PipelineProject) -> None:
    project.arrive("1", [_order(1), _order(2)])
    [page] = [block.text for block in blocks(ROOT / "docs/how-to/look-at-state.md") if "pipeline" in block.marks]
    project.write(page)
    assert not project.run().errors
    state = project.directory / ".penstock/checkpoints/shop/counts/counts/0/state/0"
    first = {path.name for path in state.glob("[0-9]*/[0-9]*") if path.is_file()}
    assert {path.rpartition(".")[2] for path in first} == {"delta"}, "RocksDB writes changelog and zip files"

    project.arrive("2", [_order(3), {**_order(2), "id": 9}])
    project.write(page.replace("(spark_conf=IN_MEMORY)", ""))
    plan = plan_update(project.config, RefreshSelection(), spark=project.spark).plan
    [notice] = plan.notices
    assert (notice.condition, notice.dataset) == ("STATE_SETTING_KEPT", "shop.counts")
    assert f"{_PROVIDER} stays {_HDFS}, not " in notice.message
    assert f"{_CODEC} stays zstd, not lz4" in notice.message
    assert notice.fix.endswith("penstock run --full-refresh shop.counts")
    update = project.run()
    assert not update.errors
    told = [event.error["condition"] for event in project.events(update) if event.error is not None]
    assert told == ["STATE_SETTING_KEPT"]
    second = {path.name for path in state.glob("[0-9]*/[0-9]*") if path.is_file()}
    assert {path.rpartition(".")[2] for path in second} == {"delta"}
    assert second > first
    assert project.rows("counts", "product", "count") == [("tea", 1), ("tea", 2)], "the open window went on"

    assert not project.run(full_refresh=("counts",)).errors
    anew = project.directory / ".penstock/checkpoints/shop/counts/counts/1/state/0"
    assert not list(anew.glob("[0-9]*/*.delta"))
    assert not plan_update(project.config, RefreshSelection(), spark=project.spark).plan.notices


PLACES = """
def places():
    return spark.readStream.schema("id LONG, lat DOUBLE, lon DOUBLE").json("in").groupBy("id")

@ps.table
def first():
    return places().agg(F.first(F.struct({fields})).alias("place"))

@ps.table
def collected():
    return places().agg(F.collect_list(F.struct({fields})).alias("place"))
"""


@pytest.mark.slow
def test_fields_of_a_struct_in_the_state_do_not_change_their_places(project: PipelineProject) -> None:
    """Spark compares the types of fields and not their names: it would read a longitude as a latitude.

    Slow: test_stream_edits.py has such edits with their verdict, and a test above what a run makes of one.
    """
    project.arrive("1", [{"id": 1, "lat": 1.5, "lon": 100.25}])
    project.write(PLACES.format(fields="'lat', 'lon'"))
    assert not project.run().errors
    before = [project.rows(table, "id", "place") for table in ("first", "collected")]
    project.arrive("2", [{"id": 1, "lat": 2.5, "lon": 200.25}])
    project.write(PLACES.format(fields="'lon', 'lat'"))
    with pytest.raises(UpdateRefused) as refused:
        project.run()
    found = {error.dataset: error for error in refused.value.errors}
    for table, function in (("shop.first", "first"), ("shop.collected", "collect_list")):
        assert found[table].condition == "CHECKPOINT_NOT_COMPATIBLE"
        assert f"{function}(struct(lat" in found[table].facts["reasons"]
    assert [project.rows(table, "id", "place") for table in ("first", "collected")] == before
