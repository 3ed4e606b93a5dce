"""What a run finds at its checkpoints before it writes: repaired, refused with the way out, or nothing. No Spark."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from tests.recorded.checkpoints import (
    BATCHES,
    HOURLY,
    RAW,
    TOPIC,
    commit_batch,
    copied_checkpoints,
    plan_batch,
    recorded_checkpoints,
    report,
    write,
    write_rows,
)
from tests.unit.plan.conftest import Pipeline

from penstock.care.checkpoints.inventory import Inventory
from penstock.care.checkpoints.verify import verify
from penstock.events import EventLog, EventType, builders, read_events
from penstock.events.flows.records import RESET
from penstock.graph.companions.quarantine import quarantine_of
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import AppliedChanges
from penstock.graph.stream_definition import StreamDefinition
from penstock.plan.planner import plan_update
from penstock.plan.selection import RefreshSelection
from penstock.plan.stages import RunStreamingFlow
from penstock.plan.state import CheckpointCheck, StateSnapshot
from penstock.runtime.storage_state.checkpoint_checks import CheckpointChecks
from penstock.runtime.storage_state.stream_notes import FlowOwner, note_stream
from penstock.storage import StorageLayout
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.newest import repair


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(recorded_checkpoints(tmp_path_factory.mktemp("recorded") / "storage").uri)


@pytest.fixture
def layout(recorded: Path, tmp_path: Path) -> StorageLayout:
    return copied_checkpoints(recorded, tmp_path / "storage")


def place(layout: StorageLayout, dataset: Identifier) -> Path:
    return Path(layout.checkpoint(dataset, dataset.name, 0))


def query_id(layout: StorageLayout, dataset: Identifier) -> str:
    return str(json.loads((place(layout, dataset) / "metadata").read_text())["id"])


def declared() -> Pipeline:
    return Pipeline().stream("raw").stream("topic").stream("hourly", "raw*")


def look(layout: StorageLayout, pipeline: Pipeline | None = None) -> dict[str, CheckpointCheck]:
    graph = (pipeline or declared()).graph
    stored = [each for each in graph.tables if DeltaTable.is_deltatable(layout.table(each))]
    tables = {each: DeltaTable(layout.table(each)) for each in stored}
    paths = {each: layout.table(each) for each in graph.tables}
    highest = dict.fromkeys([*graph.tables, *graph.sinks], 0)
    found = CheckpointChecks("shop", graph, layout, tables, paths, highest).found()
    return {target.name: check for (target, _), check in found}


def refused(layout: StorageLayout, pipeline: Pipeline | None = None) -> dict[str, list[str]]:
    found = look(layout, pipeline)
    assert not any(check.repairs for check in found.values())
    return {name: [error.condition for error in check.refusals] for name, check in found.items()}


def repair_all(layout: StorageLayout, dataset: Identifier) -> list[str]:
    [(name, check)] = look(layout).items()
    assert (name, check.refusals) == (dataset.name, ())
    for each in check.repairs:
        repair(CheckpointFolder.open_without_state(str(place(layout, dataset))), each)
    assert look(layout) == {}, "once is enough"
    inventory = Inventory(layout.uri, read_events(layout.uri))
    assert verify(inventory, inventory.checkpoints, inventory.records).findings == ()
    return [each.file for each in check.repairs]


DAMAGES = {"empty": b"", "torn": b"v", "garbage": b"\xff\xfe\xfd"}


def test_a_sound_storage_is_neither_repaired_nor_refused(layout: StorageLayout) -> None:
    assert look(layout) == {}
    assert look(layout, declared().stream("new").sink("out", "raw*")) == {}, "what never ran may begin"


# --- repaired ---------------------------------------------------------------


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("dataset", [RAW, TOPIC, HOURLY])
def test_the_newest_commit_is_done_again(layout: StorageLayout, dataset: Identifier, damage: str) -> None:
    file = f"commits/{BATCHES[dataset] - 1}"
    (place(layout, dataset) / file).write_bytes(DAMAGES[damage])
    assert repair_all(layout, dataset) == [file]
    assert not list((place(layout, dataset) / "commits").glob(f"*{BATCHES[dataset] - 1}*"))


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("dataset", [RAW, TOPIC, HOURLY])
def test_a_plan_of_which_nothing_was_written_is_made_anew(
    layout: StorageLayout, dataset: Identifier, damage: str
) -> None:
    checkpoint, batch = place(layout, dataset), BATCHES[dataset]
    compared_with = checkpoint.parent / "compared_with.json"
    compared_with.write_text("{}")
    write(checkpoint, f"offsets/{batch}", DAMAGES[damage])
    assert repair_all(layout, dataset) == [f"offsets/{batch}"]
    assert not list((checkpoint / "offsets").glob(f"*{batch}*"))
    assert not compared_with.exists(), "it tells of the rows of a batch that nobody knows any more"


def test_a_first_plan(layout: StorageLayout) -> None:
    new = Identifier("shop", "new")
    checkpoint = Path(layout.checkpoint(new, "new", 0))
    write(checkpoint, "metadata", b'{"id":"00000000-0000-0000-0000-000000000009"}')
    write(checkpoint, "offsets/0", b"")
    write_deltalake(layout.table(new), DeltaTable(layout.table(RAW)).to_pyarrow_table())
    [repaired] = look(layout, declared().stream("new"))["new"].repairs
    assert (repaired.file, repaired.batch) == ("offsets/0", 0)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_step_that_no_batch_has_read_is_found_again(layout: StorageLayout, damage: str) -> None:
    step = "sources/cloudFiles_orders/12"
    write(place(layout, RAW), step, DAMAGES[damage])
    write(place(layout, RAW), "offsets/12", DAMAGES[damage])
    assert repair_all(layout, RAW) == ["offsets/12", step]


def test_a_step_before_another_one_is_not_removed(layout: StorageLayout) -> None:
    sources = "sources/cloudFiles_orders"
    newest = (place(layout, RAW) / sources / "11").read_text()
    write(place(layout, RAW), f"{sources}/12", b"")
    write(place(layout, RAW), f"{sources}/13", newest.replace('"batchId":11', '"batchId":13').encode())
    assert refused(layout) == {"raw": ["CHECKPOINT_FILE_DAMAGED"]}


def test_the_plan_says_what_is_repaired(layout: StorageLayout) -> None:
    (place(layout, TOPIC) / "commits/3").write_bytes(b"")
    pipeline = declared()
    checks = {(TOPIC, "topic"): look(layout)["topic"]}
    state = StateSnapshot(paths={each: layout.table(each) for each in BATCHES}, checks=checks)
    everything = RefreshSelection().resolve(pipeline.graph, default_schema="shop")
    stages = plan_update(pipeline.graph, state, everything, overlap=False).of_type(RunStreamingFlow)
    [topic] = [stage for stage in stages if stage.dataset == TOPIC]
    assert topic.explanation.endswith(
        "; repairs its checkpoint: the note that batch 3 is done is empty: the batch is done again"
    )
    assert topic.to_json()["checkpoint"]["repairs"] == [each.reason for each in topic.repairs]


# --- refused ----------------------------------------------------------------

OLDER = {
    "plan before": (TOPIC, "offsets/3", "offsets/2"),
    "plan long before": (TOPIC, "offsets/3", "offsets/1"),
    "plan of a table's stream": (HOURLY, "offsets/3", "offsets/2"),
    "step": (RAW, "sources/cloudFiles_orders/11", "sources/cloudFiles_orders/10"),
}


@pytest.mark.parametrize("kind", OLDER)
def test_an_older_file_in_the_place_of_the_newest_is_refused(layout: StorageLayout, kind: str) -> None:
    """With its own checksum: only what it says tells that it is not the file that was there."""
    dataset, newest, older = OLDER[kind]
    write(place(layout, dataset), newest, (place(layout, dataset) / older).read_bytes())
    assert refused(layout) == {dataset.name: ["CHECKPOINT_FILE_DAMAGED"]}
    inventory = Inventory(layout.uri, read_events(layout.uri))
    [finding] = verify(inventory, inventory.checkpoints, inventory.records).findings
    assert (finding.condition, finding.facts["file"]) == (
        "CHECKPOINT_FILE_DAMAGED",
        str(place(layout, dataset) / newest),
    )


def test_a_clock_that_was_set_back_and_a_topic_that_began_again_are_no_older_plans(layout: StorageLayout) -> None:
    checkpoint = place(layout, TOPIC)
    for batch, offsets in ((4, {"orders": {"0": 60, "1": 50}}), (5, {"orders": {"0": 2, "1": 51}})):
        plan_batch(checkpoint, batch, {"kafka_orders": offsets})
        path = checkpoint / f"offsets/{batch}"
        write(checkpoint, path.relative_to(checkpoint).as_posix(), _an_hour_earlier(path.read_text()).encode())
        commit_batch(checkpoint, batch)
        write_rows(layout, TOPIC, query_id(layout, TOPIC), batch)
        assert refused(layout) == {}
    plan_batch(checkpoint, 6, {"kafka_orders": {"orders": {"0": 1, "1": 1}}})
    assert refused(layout) == {}, "planned later"


def _an_hour_earlier(plan: str) -> str:
    version, metadata, *offsets = plan.split("\n")
    said = json.loads(metadata)
    said["batchTimestampMs"] -= 3_600_000
    return "\n".join([version, json.dumps(said), *offsets])


def test_a_plan_of_which_something_was_written_is_kept(layout: StorageLayout) -> None:
    for dataset in (TOPIC, HOURLY):
        write(place(layout, dataset), f"offsets/{BATCHES[dataset]}", b"")
    write_rows(layout, TOPIC, query_id(layout, TOPIC), 4)
    write(place(layout, HOURLY), "state/0/1/5.changelog", b"x")
    assert refused(layout) == {"topic": ["CHECKPOINT_FILE_DAMAGED"], "hourly": ["CHECKPOINT_FILE_DAMAGED"]}


def test_a_change_flow_that_has_logged_its_events_keeps_the_plan(layout: StorageLayout) -> None:
    pipeline = (
        Pipeline().stream("raw").stream("hourly", "raw*").changes("topic", applied=AppliedChanges(("id",), "long", 1))
    )
    write(place(layout, TOPIC), "offsets/4", b"")
    assert [each.file for each in look(layout, pipeline)["topic"].repairs] == ["offsets/4"]
    logged = CommitProperties(app_transactions=[Transaction(query_id(layout, TOPIC), 4)])
    rows = DeltaTable(layout.table(RAW)).to_pyarrow_table()
    write_deltalake(layout.change_log(TOPIC, 0), rows, commit_properties=logged)
    assert refused(layout, pipeline) == {"topic": ["CHECKPOINT_FILE_DAMAGED"]}


def test_a_quarantine_that_has_taken_the_batch_keeps_the_plan(layout: StorageLayout) -> None:
    write(place(layout, TOPIC), "offsets/4", b"")
    aside = quarantine_of(TOPIC)
    write_rows(layout, aside, f"{query_id(layout, TOPIC)}/{aside}", 4)
    assert refused(layout) == {"topic": ["CHECKPOINT_FILE_DAMAGED"]}, "all its rows were put aside"


def test_a_sink_cannot_tell_what_was_written(layout: StorageLayout) -> None:
    out = Identifier("shop", "out")
    shutil.copytree(place(layout, TOPIC), layout.checkpoint(out, "out", 0))
    shutil.rmtree(place(layout, TOPIC))
    write(Path(layout.checkpoint(out, "out", 0)), "offsets/4", b"")
    pipeline = Pipeline().stream("raw").stream("hourly", "raw*").sink("out", "raw*")
    assert refused(layout, pipeline) == {"out": ["CHECKPOINT_FILE_DAMAGED"]}


NEVER_REPAIRED = {
    "query id": (RAW, "metadata"),
    "newest plan of a finished batch": (TOPIC, "offsets/3"),
    "the plan before": (TOPIC, "offsets/2"),
    "newest step": (RAW, "sources/cloudFiles_orders/11"),
}


@pytest.mark.parametrize("damage", [*DAMAGES, "missing"])
@pytest.mark.parametrize("kind", NEVER_REPAIRED)
def test_what_is_needed_is_refused(layout: StorageLayout, kind: str, damage: str) -> None:
    dataset, name = NEVER_REPAIRED[kind]
    file = place(layout, dataset) / name
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(DAMAGES[damage])
    [(target, conditions)] = refused(layout).items()
    assert target == dataset.name
    missing = {
        "metadata": ["CHECKPOINT_FILE_MISSING"],
        "offsets/3": ["CHECKPOINT_COMMIT_WITHOUT_OFFSETS", "CHECKPOINT_BEHIND_TARGET"],
        "offsets/2": ["CHECKPOINT_BATCH_MISSING"],
        "sources/cloudFiles_orders/11": ["CHECKPOINT_FILE_MISSING"],
    }
    assert conditions == (missing[name] if damage == "missing" else ["CHECKPOINT_FILE_DAMAGED"])


def test_files_of_another_spark_are_not_repaired(layout: StorageLayout) -> None:
    write(place(layout, TOPIC), "commits/3", b"v9\n{}")
    write(place(layout, HOURLY), "offsets/4", b"v9\n{}")
    assert refused(layout) == {"topic": ["CHECKPOINT_VERSION_UNKNOWN"], "hourly": ["CHECKPOINT_VERSION_UNKNOWN"]}


def test_a_compacted_step_without_those_before_it(layout: StorageLayout) -> None:
    checkpoint = place(layout, RAW)
    for batch in (9, 10, 11):
        for log in ("offsets", "commits", "sources/cloudFiles_orders"):
            (checkpoint / f"{log}/{batch}").unlink(missing_ok=True)
    (checkpoint / "sources/cloudFiles_orders/9.compact").write_bytes(b"")
    shutil.rmtree(layout.table(RAW))
    write_rows(layout, RAW, query_id(layout, RAW), 8)
    assert refused(layout) == {"raw": ["CHECKPOINT_FILE_DAMAGED"]}, "the steps 0 to 4 are nowhere else"


# --- lost, foreign, shared --------------------------------------------------


@pytest.mark.parametrize("left", ["nothing", "a folder", "the note"])
def test_a_lost_checkpoint(layout: StorageLayout, left: str) -> None:
    shutil.rmtree(place(layout, TOPIC))
    if left != "nothing":
        place(layout, TOPIC).mkdir()
    if left == "the note":
        note_stream(str(place(layout, TOPIC)), StreamDefinition(), FlowOwner("shop", "shop.topic", "topic"))
    [error] = look(layout)["topic"].refusals
    assert (error.condition, error.dataset, error.exit_code) == ("CHECKPOINT_LOST", "shop.topic", 3)
    assert str(place(layout, TOPIC)) in error.message
    assert "penstock checkpoint restore" in error.fix
    assert str(error.location) == "orders.py:3"


@pytest.mark.parametrize("left", ["the query's id", "nothing of the log"])
def test_a_lost_checkpoint_of_which_little_is_left(layout: StorageLayout, left: str) -> None:
    if left == "the query's id":
        for log in ("offsets", "commits"):
            shutil.rmtree(place(layout, TOPIC) / log)
    else:
        shutil.rmtree(layout.events)
        assert look(layout) == {}
        shutil.rmtree(place(layout, TOPIC))
    assert refused(layout) == {"topic": ["CHECKPOINT_LOST"]}


def test_without_a_log_what_was_put_aside_still_knows_its_query(layout: StorageLayout) -> None:
    shutil.rmtree(layout.events)
    shutil.move(place(layout, TOPIC), str(place(layout, TOPIC)) + ".before-20261121T000000Z")
    assert look(layout) == {}, "it was reset"


def test_a_table_that_was_emptied_has_lost_nothing(layout: StorageLayout) -> None:
    shutil.rmtree(place(layout, TOPIC))
    DeltaTable(layout.table(TOPIC)).delete()
    assert look(layout) == {}


def test_a_flow_that_was_reset_may_begin(layout: StorageLayout) -> None:
    shutil.rmtree(place(layout, TOPIC))
    with EventLog.open(layout.uri, pipeline_name="shop", update_id="reset") as log:
        log.append(EventType.USER_ACTION, *builders.user_action(RESET), dataset="shop.topic", flow="topic")
    assert look(layout) == {}


def test_a_copy_is_no_checkpoint_of_its_own(layout: StorageLayout) -> None:
    for dataset in (RAW, TOPIC):
        note_stream(
            str(place(layout, dataset)), StreamDefinition(), FlowOwner("shop", str(dataset).upper(), dataset.name)
        )
    assert look(layout) == {}, "names compare without regard to case"
    shutil.rmtree(place(layout, TOPIC))
    shutil.copytree(place(layout, RAW), place(layout, TOPIC))
    found = look(layout)["topic"].refusals
    assert [error.condition for error in found] == ["CHECKPOINT_FOREIGN", "CHECKPOINT_AHEAD_OF_TARGET"]
    assert "flow 'raw' of SHOP.RAW in pipeline 'shop'" in found[0].message
    (place(layout, TOPIC) / "penstock.json").unlink()
    assert "CHECKPOINT_SHARED" in [error.condition for error in look(layout)["topic"].refusals]


def test_a_checkpoint_of_the_same_flow_in_another_pipeline(layout: StorageLayout) -> None:
    checkpoint = place(layout, TOPIC)
    note_stream(str(checkpoint), StreamDefinition(), FlowOwner("warehouse", "shop.topic", "topic"))
    assert look(layout) == {}, "the pipeline got another name: its table knows the query"
    write(checkpoint, "metadata", b'{"id":"00000000-0000-0000-0000-000000000009"}')
    assert "CHECKPOINT_FOREIGN" in refused(layout)["topic"]


# --- the table knows other batches ------------------------------------------


def test_a_table_that_went_on(layout: StorageLayout) -> None:
    write_rows(layout, TOPIC, query_id(layout, TOPIC), 4)
    assert refused(layout) == {"topic": ["CHECKPOINT_BEHIND_TARGET"]}
    plan_batch(place(layout, TOPIC), 4, {"kafka_orders": {"orders": {"0": 60, "1": 50}}})
    assert look(layout) == {}, "a batch in flight"


def test_a_table_that_was_put_back(layout: StorageLayout) -> None:
    checkpoint = place(layout, TOPIC)
    for batch, rows in ((4, 7), (5, 0)):
        plan_batch(checkpoint, batch, {"kafka_orders": {"orders": {"0": 60, "1": 50}}})
        commit_batch(checkpoint, batch)
        if batch == 4:
            assert look(layout) == {}, "nobody has logged that batch 4 had rows: the process may have died before"
        report(layout, TOPIC, batch, rows)
    assert refused(layout) == {"topic": ["CHECKPOINT_AHEAD_OF_TARGET"]}
    write_rows(layout, TOPIC, query_id(layout, TOPIC), 4)
    assert look(layout) == {}, "batch 5 had no rows"


def test_only_what_is_selected_and_goes_on_is_judged(layout: StorageLayout) -> None:
    shutil.rmtree(place(layout, TOPIC))
    pipeline = declared().existing()
    checks = {(TOPIC, "topic"): look(layout)["topic"]}
    state = StateSnapshot(pipeline.stored, {each: layout.table(each) for each in BATCHES}, checks=checks)

    def conditions(selection: RefreshSelection) -> list[str]:
        chosen = selection.resolve(pipeline.graph, default_schema="shop")
        return [each.condition for each in plan_update(pipeline.graph, state, chosen, overlap=False).refusals]

    assert conditions(RefreshSelection()) == ["CHECKPOINT_LOST"]
    assert conditions(RefreshSelection(refresh=("raw",))) == []
    assert conditions(RefreshSelection(full_refresh=("topic",))) == []
