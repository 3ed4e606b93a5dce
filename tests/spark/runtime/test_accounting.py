"""The accounts of each batch, against rows counted in Python, and a writer that loses a row."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame
from tests.spark.pipeline_project import PipelineProject

from penstock.events import EventType, UpdateState
from penstock.observe.status.pipeline_status import project_status
from penstock.runtime import UpdateOutcome
from penstock.runtime.flows import streaming_flow
from penstock.spark.streams.writes import append_to_table
from penstock.spark.writers import checking_writer

PIPELINE = """
def source():
    return spark.readStream.schema("id LONG, amount LONG, at TIMESTAMP").json("in")

@dlt.view
@dlt.expect_or_drop("not nine", "id <> 9")
def seen():
    return source()

@dlt.table
@dlt.expect_or_drop("even", "id % 2 = 0")
def plain():
    return dlt.read_stream("seen").select("id", F.col("amount").alias("doubled"))

@dlt.table
@dlt.expect_or_drop("even", "id % 2 = 0")
@dlt.expect_or_quarantine("positive", "amount > 0")
def checked():
    return source()

@dlt.table
def once_each():
    return source().withWatermark("at", "1 minute").dropDuplicates(["id", "at"])

@dlt.table
def filtered():
    return source().where("id > 3")

@dlt.table
def total():
    return dlt.read("plain").agg(F.count("*").alias("rows"))

dlt.create_streaming_table("latest")
dlt.apply_changes("latest", source="changes", keys=["id"], sequence_by="amount")

@dlt.view
def changes():
    return source()

ps.create_sink("nothing", "noop", {})

@dlt.append_flow(target="nothing")
def into_nothing():
    return source()

@dp.foreach_batch_sink(name="function")
def function(rows, batch_id):
    rows.count()

@dlt.append_flow(target="function")
def into_function():
    return source()
"""
_NUMBERS = ("read", "evaluated", "written", "dropped", "quarantined", "dropped_in_views", "late", "deduplicated")


def _row(number: int, amount: int, minute: int = 0) -> dict[str, Any]:
    return {"id": number, "amount": amount, "at": f"2026-01-01T00:{minute:02d}:00Z"}


def _accounts(project: PipelineProject, update: UpdateOutcome) -> dict[str, list[dict[str, Any]]]:
    """The accounts of the batches that had rows, by dataset."""
    found: dict[str, list[dict[str, Any]]] = {}
    for event in project.events(update):
        accounts = event.details.get("accounting")
        if accounts and (accounts["read"] or accounts["evaluated"]):
            found.setdefault(str(event.origin.dataset_name).removeprefix("shop."), []).append(dict(accounts))
    return found


def _numbers(accounts: dict[str, Any]) -> tuple[int | None, ...]:
    return tuple(accounts[name] for name in _NUMBERS)


def test_accounts_say_where_each_row_has_gone(project: PipelineProject, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(PIPELINE)
    # A repetition, the id 9 that the view drops, an odd one, one for the quarantine, and later a late one.
    project.arrive("1", [_row(n, n - 3, minute=n) for n in range(10)] + [_row(0, -3)])
    first = project.run()
    assert first.state is UpdateState.COMPLETED, first.errors
    accounts = {name: found[0] for name, found in _accounts(project, first).items()}
    assert {name: _numbers(each) for name, each in accounts.items()} == {
        "plain": (11, 10, 6, 4, 0, 1, 0, 0),
        "checked": (11, 11, 3, 3, 5, 0, 0, 0),
        "once_each": (11, 10, 10, 0, 0, 0, 0, 1),
        "filtered": (6, 6, 6, 0, 0, 0, 0, 0),  # the scan itself leaves rows out
        "total": (None, 1, 1, 0, 0, 0, 0, 0),
        "latest": (11, 11, 11, 0, 0, 0, 0, 0),
        "nothing": (11, 11, 11, 0, 0, 0, 0, 0),
        "function": (11, 11, None, 0, 0, 0, 0, 0),
    }
    verdicts = {name: (each["verdict"], each["checks"][0]["verdict"]) for name, each in accounts.items()}
    checkable = dict.fromkeys(("plain", "checked", "once_each", "latest", "nothing"), ("BALANCED", "BALANCED"))
    assert verdicts == {
        **checkable,
        "filtered": ("BALANCED", "NOT_CHECKABLE"),
        "total": ("BALANCED", "NOT_CHECKABLE"),
        "function": ("NOT_CHECKABLE", "NOT_CHECKABLE"),
    }
    assert accounts["filtered"]["checks"][0]["reason"] == "the query does not keep each row: Filter"

    # As after a crash between the table's commit and the checkpoint's: Delta leaves the batch out when it comes again.
    for file in ("0", ".0.crc"):
        (project.directory / ".penstock/checkpoints/shop/plain/plain/0/commits" / file).unlink()

    def losing(rows: DataFrame, path: str, transaction: tuple[str, int], *, mode: str = "append") -> None:
        append_to_table(rows.where("id <> 14"), path, transaction, mode=mode)

    monkeypatch.setattr(checking_writer, "append_to_table", losing)
    project.arrive("2", [_row(12, 1, minute=30), _row(14, 1, minute=30), _row(0, 0), _row(2, 5)])
    second = project.run(refresh=("plain", "checked", "once_each"))
    assert second.state is UpdateState.FAILED
    assert [(error.condition, error.exit_code) for error in second.errors] == [("ACCOUNTING_BROKEN", 1)]
    assert "4 rows evaluated, but 2 written + 1 quarantined: 1 missing" in second.errors[0].message
    [replayed] = [
        event.details["accounting"]
        for event in project.events(second)
        if event.event_type is EventType.ACCOUNTING and event.origin.dataset_name == "shop.plain"
        if event.origin.batch_id == 0
    ]
    assert (replayed["verdict"], replayed["written"]) == ("NOT_CHECKABLE", 6)
    accounts = {name: found[0] for name, found in _accounts(project, second).items()}
    assert [name for name, each in accounts.items() if each["verdict"] == "BROKEN"] == ["checked"]
    assert _numbers(accounts["once_each"]) == (4, 2, 2, 0, 0, 0, 2, 0)
    assert project.statuses(second, "checked")[-1] == "COMPLETED"
    shown = project_status(project.events()).dataset("shop.checked")
    assert shown is not None
    assert shown.accounts is not None
    assert shown.accounts.broken == 1
    assert shown.accounts.error is not None
    assert shown.accounts.error["condition"] == "ACCOUNTING_BROKEN"


def _files(rule: str) -> str:
    """Tables of files as Spark and as Auto Loader read them, each also with `ignoreMissingFiles`."""
    code = ""
    for name, kind, options in (("plain", "json", {}), ("loaded", "cloudFiles", {"cloudFiles.format": "json"})):
        for suffix, ignores in (("", "false"), ("_ignoring", "true")):
            chosen = {**options, "ignoreMissingFiles": ignores}
            code += f'''
@dlt.table
@dlt.expect_or_fail("rule", "{rule}")
def {name}{suffix}():
    return spark.readStream.format("{kind}").options(**{chosen}).schema("id LONG").load("in")
'''
    return code


def test_a_file_in_the_log_of_its_source_that_no_batch_has_read_is_found(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        project.arrive(str(number), [{"id": number}])
    project.write(_files("id < 2"))
    assert project.run().state is UpdateState.FAILED, "the batches are planned and not done"
    (project.directory / "in/1.json").unlink()
    project.write(_files("id < 9"))
    # As if it had vanished a moment later, between this look and Spark's.
    monkeypatch.setattr(streaming_flow, "check_planned_files", lambda *_, **__: None)
    update = project.run()
    gone = f"file://{project.directory}/in/1.json"
    for table in ("plain", "loaded", "plain_ignoring", "loaded_ignoring"):
        ignores = table.endswith("_ignoring")
        assert project.rows(table, "id") == [0, 2]
        [accounts] = _accounts(project, update)[table]
        assert accounts["verdict"] == ("BALANCED" if ignores else "BROKEN")
        assert [each["files"] for each in accounts["checks"][2:]] == ([] if ignores else [[gone]])
    assert {(error.dataset, error.condition) for error in update.errors} == {
        ("shop.plain", "ACCOUNTING_BROKEN"),
        ("shop.loaded", "ACCOUNTING_BROKEN"),
    }
    for error in update.errors:
        assert f"1 file ({gone}) of its source gone before the batch read" in error.message
    told = [str(each.origin.dataset_name) for each in project.events(update) if f"has left out {gone}" in each.message]
    assert sorted(told) == ["shop.loaded_ignoring", "shop.plain_ignoring"]

    project.arrive("4", [{"id": 4}])
    after = project.run(refresh=("plain_ignoring", "loaded_ignoring"))
    assert after.state is UpdateState.COMPLETED, after.errors
    assert not any("has left out" in each.message for each in project.events(after)), "it is told once"
