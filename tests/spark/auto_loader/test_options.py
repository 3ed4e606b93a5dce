"""Every option: it works, it is refused by name, or it does nothing for a stated reason."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from tests.spark.auto_loader.conftest import Landing

from penstock.errors import DefinitionError
from penstock.spark.sources.auto_loader import load_auto_loader
from penstock.spark.sources.auto_loader.files.arriving import files_within
from penstock.spark.sources.auto_loader.options import names as option_names
from penstock.spark.sources.auto_loader.options.read_options import parse_bytes, parse_options
from penstock.spark.sources.file_reports import missing_files
from penstock.spark.sources.stream_read import StreamRead

Build = Callable[..., Landing]


def refused(schema: str | None = None, **options: str) -> DefinitionError:
    chosen = {"cloudFiles.format": "json", **{name.replace("__", "."): value for name, value in options.items()}}
    with pytest.raises(DefinitionError) as error:
        parse_options(StreamRead("cloudFiles", chosen, schema, "/nowhere"))
    return error.value


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    error = refused(cloudFiles__maxFilePerTrigger="5")
    assert error.condition == "AUTO_LOADER_UNKNOWN_OPTION"
    assert error.facts["option"] == "cloudFiles.maxFilePerTrigger"
    assert "cloudFiles.maxFilesPerTrigger" in error.facts["suggestion"]


def test_options_that_change_no_row_are_passed_over() -> None:
    given = {"cloudFiles.format": "json", "cloudFiles.inferSchema": "true", "cloudFiles.telemetry": "on"}
    options = parse_options(StreamRead("cloudFiles", given, None, "/p"))
    assert options.infer_types
    assert list(options.passed_over) == ["cloudFiles.inferSchema", "cloudFiles.telemetry"]
    both = parse_options(StreamRead("cloudFiles", given | {"cloudFiles.inferColumnTypes": "false"}, None, "/p"))
    assert not both.infer_types


def test_validation_of_names_can_be_switched_off() -> None:
    options = {"cloudFiles.format": "json", "cloudFiles.validateOptions": "false", "cloudFiles.bogus": "1"}
    assert "cloudFiles.bogus" not in parse_options(StreamRead("cloudFiles", options, None, "/p")).reader


@pytest.mark.parametrize("option", option_names.REFUSED)
def test_what_cannot_work_is_refused_by_name(option: str) -> None:
    harmless, reason = option_names.REFUSED[option]
    value = {"true": "false", "false": "true"}.get(harmless, "q")
    error = refused(**{option: value})
    assert error.condition == "AUTO_LOADER_UNSUPPORTED_OPTION"
    assert (error.facts["option"], error.facts["reason"]) == (option, reason)
    assert error.facts["value"] in {value, "…"}


@pytest.mark.parametrize("validate", ["true", "false"])
def test_tags_of_notification_services_are_refused_whatever_their_keys(validate: str) -> None:
    error = refused(**{"cloudFiles.resourceTag.owner": "me", "cloudFiles.validateOptions": validate})
    assert (error.condition, error.facts["option"]) == (
        "AUTO_LOADER_UNSUPPORTED_OPTION",
        "cloudFiles.resourceTag.owner",
    )


def test_a_refused_secret_is_not_repeated() -> None:
    error = refused(**{"cloudFiles.clientSecret": "hunter2"})
    assert "hunter2" not in str(error.facts) + error.message


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("cloudFiles.schemaEvolutionMode", "sometimes"),
        ("cloudFiles.maxFilesPerTrigger", "0"),
        ("cloudFiles.maxFilesPerTrigger", "many"),
        ("cloudFiles.maxBytesPerTrigger", "10 apples"),
        ("cloudFiles.maxBytesPerTrigger", "0"),
        ("cloudFiles.inferColumnTypes", "maybe"),
        ("cloudFiles.backfillInterval", "often"),
        ("cloudFiles.backfillInterval", "0 days"),
        ("cloudFiles.useIncrementalListing", "sometimes"),
    ],
)
def test_a_bad_value_is_named(option: str, value: str) -> None:
    error = refused(**{option: value})
    assert error.condition == "AUTO_LOADER_INVALID_OPTION"
    assert (error.facts["option"], error.facts["value"]) == (option, value)


@pytest.mark.parametrize(
    ("source_format", "column", "schema"), [("parquet", "v", None), ("json", "v", "id INT"), ("json", " ", None)]
)
def test_where_records_cannot_be_a_variant(source_format: str, column: str, schema: str | None) -> None:
    error = refused(schema, cloudFiles__format=source_format, singleVariantColumn=column)
    assert error.condition == "AUTO_LOADER_INVALID_OPTION"
    assert (error.facts["option"], error.facts["value"]) == ("singleVariantColumn", column)


def test_harmless_values_and_options_without_effect_pass() -> None:
    options = {
        "CLOUDFILES.FORMAT": "JSON",
        "cloudFiles.useNotifications": "false",
        "cloudFiles.allowOverwrites": "FALSE",
        "cloudFiles.cleanSource": "OFF",
        "cloudFiles.cleanSource.waitForCompletion": "true",
        "cloudFiles.listOnStart": "true",
        "cloudFiles.schemaLocation": "/schemas",
        "cloudFiles.useStrictGlobber": "true",
    }
    assert parse_options(StreamRead("cloudFiles", options, None, "/p")).format == "json"


def test_format_path_and_mode_are_checked() -> None:
    assert refused(cloudFiles__format="xls").condition == "AUTO_LOADER_UNSUPPORTED_FORMAT"
    assert refused(cloudFiles__format="xml").facts["option"] == "rowTag"
    assert parse_options(StreamRead("cloudFiles", {"cloudFiles.format": "BINARYFILE"}, None, "/p")).fixed_columns
    with_schema = refused(schema="id INT", cloudFiles__schemaEvolutionMode="addNewColumns")
    assert with_schema.condition == "AUTO_LOADER_EVOLUTION_WITH_SCHEMA"
    for read in (StreamRead("cloudFiles", {}, None, "/p"), StreamRead("cloudFiles", {"cloudFiles.format": "json"})):
        with pytest.raises(DefinitionError) as error:
            parse_options(read)
        assert error.value.condition == "AUTO_LOADER_MISSING_OPTION"


# Slow: more texts that Spark's parser refuses.
@pytest.mark.parametrize(
    "hint", ["id NOTATYPE", *(pytest.param(each, marks=pytest.mark.slow) for each in ("id", "INT"))]
)
def test_a_bad_schema_hint_is_named(landing: Build, hint: str) -> None:
    it = landing(schemaHints=f"ok INT, {hint}")
    it.put_json("1.json", [{"id": 1}])
    with pytest.raises(DefinitionError) as error:
        it.load()
    assert error.value.condition == "AUTO_LOADER_SCHEMA_HINT_INVALID"
    assert error.value.facts["hint"] == hint


@pytest.mark.parametrize("schema", [None, "id INT"])
def test_a_missing_directory_is_named(spark: SparkSession, tmp_path: Path, schema: str | None) -> None:
    read = StreamRead("cloudFiles", {"cloudFiles.format": "json"}, schema, str(tmp_path / "nope"))
    with pytest.raises(DefinitionError) as error:
        load_auto_loader(spark, read, schema_location=str(tmp_path / "s"), source_name="s", persist=True)
    assert error.value.condition == "PATH_NOT_FOUND"
    assert error.value.facts["path"] == str(tmp_path / "nope")
    assert not (tmp_path / "s").exists()


def test_an_empty_directory_needs_a_schema(landing: Build) -> None:
    it = landing()
    with pytest.raises(DefinitionError) as error:
        it.load()
    assert error.value.condition == "CF_EMPTY_DIR_FOR_SCHEMA_INFERENCE"
    assert error.value.facts["path"] == str(it.files)
    it.schema = "id INT"
    it.run()
    it.put_json("1.json", [{"id": 1}])
    it.run()
    assert it.rows() == [(1,)]


@pytest.mark.slow  # both limits together: below
def test_max_files_per_trigger_splits_the_backlog(landing: Build) -> None:
    it = landing(maxFilesPerTrigger="2")
    for number in range(5):
        it.put_json(f"{number}.json", [{"id": number}])
    it.run()
    assert (it.batch_count, len(it.rows())) == (3, 5)


@pytest.mark.slow  # both limits together: below
def test_max_bytes_per_trigger_takes_a_size_with_a_unit(landing: Build) -> None:
    it = landing(maxBytesPerTrigger="2k")
    for number in range(4):
        it.put_json(f"{number}.json", [{"id": number, "text": "x" * 1000}])
    it.run()
    assert len(it.rows()) == 4
    assert it.batch_count >= 2


def test_both_limits_together_hold(landing: Build) -> None:
    it = landing(maxBytesPerTrigger="5k", maxFilesPerTrigger="3")
    for number in range(8):
        it.put_json(f"{number}.json", [{"id": number, "text": "x" * 2000}])
    it.run()
    assert len(it.rows()) == 8
    assert it.batch_count == 4, "two files of 2 kB fit in 5 kB"


@pytest.mark.parametrize(
    ("max_files", "max_bytes", "sizes", "expected"),
    [
        (10, 100, [], 10),
        (10, 100, [10] * 50, 10),
        (10, 100, [50] * 50, 2),
        (10, 100, [60] * 50, 1),
        (10, 100, [1, 1, 99, 1, 1], 2),
        (10, 100, [500, 10, 500, 10], 10),
        (3, 100, [10] * 50, 3),
    ],
)
def test_bytes_become_a_number_of_files(max_files: int, max_bytes: int, sizes: list[int], expected: int) -> None:
    assert files_within(max_files, max_bytes, sizes) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("10g", 10 * 1024**3), ("64 MB", 64 * 1024**2), ("1KiB", 1024), ("7", 7), ("7b", 7), ("ten", None), ("-1", None)],
)
def test_sizes(text: str, expected: int | None) -> None:
    assert parse_bytes(text) == expected


@pytest.mark.slow  # test_clocks.py has such files
def test_a_file_with_an_old_modification_time_is_not_lost(landing: Build) -> None:
    it = landing()
    it.put_json("new.json", [{"id": 1}])
    it.run()
    late = it.put_json("old.json", [{"id": 2}])
    long_ago = time.time() - 400 * 86400
    os.utime(late, (long_ago, long_ago))
    it.run()
    assert it.rows("id") == [("1",), ("2",)]


def test_existing_files_can_be_left_out_also_when_a_later_one_is_older(landing: Build) -> None:
    it = landing(includeExistingFiles="false")
    it.put_json("a b+c%.json", [{"id": 1}])
    it.run()
    assert it.rows("id") == []
    late = it.put_json("later.json", [{"id": 2}])
    os.utime(late, (1, 1))
    it.run()
    assert it.rows("id") == [("2",)]


def test_globs_and_the_glob_filter_choose_files(landing: Build) -> None:
    it = landing(pathGlobFilter="*.json")
    it.put_json("a/1.json", [{"id": 1}])
    it.put("a/notes.txt", "no JSON\n")
    it.put_json("b/1.json", [{"id": 2}])
    read = StreamRead("cloudFiles", it.options, None, str(it.files / "a*"))
    frame, _ = load_auto_loader(it.spark, read, schema_location=str(it.schemas), source_name="s", persist=True)
    query = frame.writeStream.format("delta").option("checkpointLocation", str(it.root / "checkpoint"))
    query.trigger(availableNow=True).start(str(it.root / "table")).awaitTermination()
    assert it.rows("id") == [("1",)]


@pytest.mark.slow  # each test that runs twice counts its rows
def test_a_file_is_read_once(landing: Build) -> None:
    it = landing()
    it.put_json("1.json", [{"id": 1}])
    it.run()
    it.run()
    assert len(it.rows()) == 1


def test_files_that_the_log_of_a_sink_names_are_not_cleaned(landing: Build) -> None:
    it = landing(cleanSource="DELETE")
    it.put_json("1.json", [{"id": 1}])
    _, source = it.load()
    it.run()
    (it.files / "_spark_metadata").mkdir()
    with pytest.raises(DefinitionError) as refused:
        it.load()
    assert refused.value.condition == "AUTO_LOADER_UNSUPPORTED_OPTION"
    assert "names the files" in refused.value.facts["reason"]
    (it.files / "_spark_metadata/0").write_text("v1")
    cleaned = source.clean(str(it.root / "checkpoint"), lambda: False)
    assert cleaned.failure is not None
    assert "_spark_metadata" in cleaned.failure


@pytest.mark.slow  # Spark's own options, passed on; three starts of a query
def test_files_are_chosen_at_any_depth_and_may_go(landing: Build) -> None:
    it = landing("parquet", schema="id BIGINT")
    it.options |= {"pathGlobfilter": "*.parquet", "recursiveFileLookup": "TRUE", "ignoreMissingFiles": "true"}
    (it.files / "plain/deep").mkdir(parents=True)
    for number, place in enumerate(("0.parquet", "plain/1.parquet", "plain/deep/2.parquet", "plain/deep/3.par")):
        pq.write_table(pa.table({"id": [number]}), it.files / place)
    it.transform = lambda frame: frame.where("raise_error('the batch is planned') IS NULL")
    with pytest.raises(StreamingQueryException):
        it.run()
    (it.files / "0.parquet").unlink()
    it.transform = lambda frame: frame
    it.run()
    assert it.rows() == [(1,), (2,)]
    gone = missing_files(it.spark, str(it.root / "checkpoint"), it.progress[0])
    assert gone.left_out == (f"file://{it.files}/0.parquet",), "which a run tells"
