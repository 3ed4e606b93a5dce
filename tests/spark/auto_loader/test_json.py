"""JSON: what is inferred, what is rescued, and that no line is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from tests.spark.auto_loader.conftest import Landing

from penstock.spark.sources.auto_loader import describe_failure, load_files

Build = Callable[..., Landing]


def test_columns_are_strings_by_default_and_nested_values_json_text(landing: Build) -> None:
    it = landing()
    it.put_json("1.json", [{"id": 7, "amount": 1.50, "who": {"name": "Ann"}, "ok": True}])
    it.run()
    assert it.table.dtypes == [(name, "string") for name in ("amount", "id", "ok", "who", "_rescued_data")]
    assert it.rows() == [("1.5", "7", "true", '{"name":"Ann"}', None)]


@pytest.mark.slow  # test_a_new_nested_field_beside_a_value_of_another_type_is_added infers such
def test_types_are_inferred_on_request_nested_ones_too(landing: Build) -> None:
    it = landing(inferColumnTypes="true")
    it.put_json("1.json", [{"id": 7, "amount": 1.5, "who": {"name": "Ann"}, "tags": ["a:b"]}])
    it.run()
    assert it.table.dtypes == [
        ("amount", "double"),
        ("id", "bigint"),
        ("tags", "array<string>"),
        ("who", "struct<name:string>"),
        ("_rescued_data", "string"),
    ]
    assert it.rows("id", "who", "_rescued_data") == [(7, {"name": "Ann"}, None)]


def test_schema_hints_reach_into_nested_fields_and_add_columns(landing: Build) -> None:
    it = landing(inferColumnTypes="true", schemaHints="id STRING, who.age DECIMAL(5,2), `odd_name` INT")
    it.put_json("1.json", [{"id": 7, "who": {"age": 3, "name": "x"}}])
    it.run()
    assert dict(it.table.dtypes) == {
        "id": "string", "who": "struct<age:decimal(5,2),name:string>", "odd_name": "int", "_rescued_data": "string"
    }  # fmt: skip
    assert it.rows("id", "_rescued_data") == [("7", None)]


MALFORMED = ['{"id": 1, "name": "a"', "not json", '"text"', "null", "{'id'", "[1, 2"]


# Slow: without inference the columns are texts, and a line without a record the same row.
@pytest.mark.parametrize("types", ["true", pytest.param("false", marks=pytest.mark.slow)])
def test_each_malformed_line_is_a_row_of_nulls_with_the_line_rescued(landing: Build, types: str) -> None:
    it = landing(inferColumnTypes=types)
    it.put("1.json", '{"id": 1, "name": "a"}\n' + "\n".join(MALFORMED) + "\n\n   \n" + '{"id": 2, "name": "b"}\n')
    it.run()
    rows = it.rows("id", "name", "_rescued_data")
    assert [row[2]["_corrupt_record"] for row in rows if row[0] is None] == sorted(MALFORMED, key=repr)
    assert [(str(row[0]), row[1], row[2]) for row in rows if row[0] is not None] == [("1", "a", None), ("2", "b", None)]


@pytest.mark.slow  # test_text_behind_a_record_is_not_lost has such a line
def test_two_objects_on_one_line_keep_the_second_in_the_rescued_data(landing: Build) -> None:
    it = landing(inferColumnTypes="true")
    lines = ['{"id": 1}{"id": 2}', '{"id": 3}, {"id": 4}', '{"id": 5},', '{"id": 6, "l": [{"x": 1},{"x": 2}]},']
    it.put("1.json", "\n".join(lines))
    it.run()
    rescued = {row[0]: row[1] for row in it.rows("id", "_rescued_data")}
    assert rescued == {1: {"_corrupt_record": lines[0]}, 3: {"_corrupt_record": lines[1]}, 5: None, 6: None}


def test_a_value_of_another_type_is_rescued_and_the_rest_of_the_row_kept(landing: Build) -> None:
    it = landing(schemaEvolutionMode="rescue", schemaHints="id INT, amount DOUBLE, at TIMESTAMP, who STRUCT<age: INT>")
    it.put_json(
        "1.json",
        [
            {"id": "seven", "amount": 1.5, "at": "2026-01-01T00:00:00Z", "who": {"age": 4}},
            {"id": 8, "amount": "many", "at": "yesterday", "who": {"age": "old"}},
            {"id": 9, "amount": 2.5, "at": None, "who": None},
        ],
    )
    it.run()
    assert it.rows("id", "amount", "who", "_rescued_data") == [
        (8, None, {"age": None}, {"amount": "many", "at": "yesterday", "who": {"age": "old"}}),
        (9, 2.5, None, None),
        (None, 1.5, {"age": 4}, {"id": "seven"}),
    ]


def test_mode_rescue_keeps_unknown_fields_at_any_depth(landing: Build) -> None:
    it = landing(schema="id INT, who STRUCT<name: STRING>, lines ARRAY<STRUCT<x: INT>>", schemaEvolutionMode="rescue")
    it.put_json(
        "1.json",
        [
            {"id": 1, "who": {"name": "a"}, "lines": [{"x": 1}]},
            {"id": 2, "who": {"name": "a", "age": 4}, "lines": [{"x": 1}]},
            {"id": 3, "lines": [{"x": 1}, {"x": 2, "y": 3}]},
            {"id": 4, "New": {"deep": [1.50, None]}, "it's": 5, "nothing": None},
        ],
    )
    it.run()
    assert it.rows("id", "_rescued_data") == [
        (1, None),
        (2, {"who": {"name": "a", "age": 4}}),
        (3, {"lines": [{"x": 1}, {"x": 2, "y": 3}]}),
        (4, {"New": {"deep": [1.5, None]}, "it's": 5}),
    ]


def test_a_new_nested_field_beside_a_value_of_another_type_is_added(landing: Build) -> None:
    it = landing(inferColumnTypes="true", schemaHints="m MAP<STRING, STRUCT<x: INT>>")
    it.put_json("1.json", [{"id": 1, "who": {"name": "a"}, "lines": [{"x": 1}]}])
    it.run()
    it.put_json(
        "2.json",
        [
            {"id": 2, "who": {"name": "b", "age": 4}, "lines": "none"},
            {"id": 3, "who": "c", "lines": [{"x": 3, "y": {"z": 1.5}}]},
            {"id": "four", "who": {"town": "d"}, "m": {"k": {"new": 1.10}}},
        ],
    )
    it.run(restarts=8)
    types = dict(it.table.dtypes)
    assert types["who"] == "struct<name:string,age:bigint,town:string>"
    assert types["lines"] == "array<struct<x:bigint,y:struct<z:double>>>"
    assert types["m"] == "map<string,struct<x:int,new:string>>"
    assert it.rows("id", "who", "lines", "_rescued_data") == [
        (1, {"name": "a", "age": None, "town": None}, [{"x": 1, "y": None}], None),
        (2, {"name": "b", "age": 4, "town": None}, None, {"lines": "none"}),
        (3, None, [{"x": 3, "y": {"z": 1.5}}], {"who": "c"}),
        (None, {"name": None, "age": None, "town": "d"}, None, {"id": "four"}),
    ]


def test_a_new_field_of_a_hinted_struct_is_added_without_inference_too(landing: Build) -> None:
    it = landing(schemaHints="who STRUCT<age: INT>")
    it.put("1.json", '{"who": {"age": 1, "price": 12345678.90}}\n{"who": 5}\n')
    it.run()
    who = {"age": 1, "price": "12345678.90"}
    assert it.rows() == [(None, {"who": 5}), (who, None)]


# Slow: another name of the column is in test_a_rescued_column_of_another_name_beside_a_given_schema.
@pytest.mark.parametrize("name", ["_rescued_data", pytest.param("_lost", marks=pytest.mark.slow)])
def test_the_rescued_data_column_is_no_column_of_the_files(landing: Build, name: str) -> None:
    it = landing(
        schemaHints=f"id INT, {name} STRING", **({} if name == "_rescued_data" else {"rescuedDataColumn": name})
    )
    it.put_json("1.json", [{"id": 1, name: "mine"}])
    it.run()
    it.put_json("2.json", [{"id": 2, "new": 3, name.upper(): {"a": 1.5}}, {"id": 4}])
    it.run()
    assert it.rows("id", "new", name) == [
        (1, None, {name: "mine"}),
        (2, "3", {name.upper(): {"a": 1.5}}),
        (4, None, None),
    ]


def test_another_spelling_of_a_column_is_rescued_and_adds_no_column(landing: Build) -> None:
    it = landing()
    it.put_json("1.json", [{"id": 1}])
    it.run()
    it.put_json("2.json", [{"ID": 2}, {"id": 3, "Id": 4}])
    it.run()
    assert it.evolutions == []
    assert it.rows() == [("1", None), ("3", {"Id": 4}), (None, {"ID": 2})]


def test_spellings_that_differ_in_case_in_the_first_file(landing: Build) -> None:
    it = landing(inferColumnTypes="true")
    it.put("1.json", '{"a": 1, "A": 2}\n{"a": 3}\n')
    it.run()
    assert it.rows("a", "_rescued_data") == [(1, {"A": 2}), (3, None)]


TRICKY = [
    '{"id": "a:b", "name": "x"}',
    '{"id":"1","name":"with \\\\" quote: x"}',
    '{ "id" : "1" , "name"\\t: null }',
    "{'id': '1', 'name': 'single'}",
    '{"id": "\\\\u003a\\\\u003a", "extra": 1}',
    '{"id": ":", "extra": 2}',
    '{"id": "1", "id": "2"}',
    '{"id": "1", "id": "2", "extra": 3}',
    '{"id" :"1", "extra" :4}',
    '{"id": "", "extra": {"a": 5}}',
]


# Slow: columns that are not texts are parsed, and their lines not only looked at.
@pytest.mark.parametrize(
    "schema",
    ["id STRING, name STRING", pytest.param("id STRING, name STRING, at TIMESTAMP", marks=pytest.mark.slow)],
)
def test_the_quick_test_never_overlooks_a_field(landing: Build, schema: str) -> None:
    it = landing(schema=schema, schemaEvolutionMode="rescue")
    lines = [line.encode().decode("unicode_escape") for line in TRICKY]
    it.put("1.json", "\n".join(lines))
    it.run()
    rescued = [row[0] for row in it.rows("_rescued_data") if row[0]]
    extras = sorted(str(row["extra"]) for row in rescued if "extra" in row)
    whole = [row["_corrupt_record"] for row in rescued if "_corrupt_record" in row]
    assert extras == ["1", "2", "4", "{'a': 5}"]
    assert whole == ['{"id": "1", "id": "2", "extra": 3}'], "duplicate keys have no variant form, so the line is kept"
    assert len(it.rows()) == len(TRICKY)


def test_mode_none_without_a_rescued_column_is_sparks_own_reader(landing: Build) -> None:
    it = landing(schema="id INT, _corrupt_record STRING")
    it.put("1.json", '{"id": 1, "x": 2}\nbroken\n')
    it.run()
    assert it.rows() == [(1, None), (None, "broken")]


def test_mode_none_with_inference_ignores_new_fields_but_keeps_broken_lines(landing: Build) -> None:
    it = landing(schemaEvolutionMode="none")
    it.put_json("1.json", [{"id": 1}])
    it.run()
    it.put("2.json", '{"id": 2, "x": 3}\nbroken\n')
    it.run()
    assert it.rows() == [("1", None), ("2", None), (None, {"_corrupt_record": "broken"})]


def test_a_rescued_column_of_another_name_beside_a_given_schema(landing: Build) -> None:
    it = landing(schema="id INT", rescuedDataColumn="_lost")
    it.put_json("1.json", [{"id": 1, "x": 2}])
    it.run()
    assert it.rows("id", "_lost") == [(1, {"x": 2})]


# Slow: arrays over several lines take what one of a line takes, and the reading of whole files too.
@pytest.mark.parametrize("multi_line", ["true", pytest.param("false", marks=pytest.mark.slow)])
def test_arrays_of_objects_become_rows(landing: Build, multi_line: str) -> None:
    it = landing(inferColumnTypes="true", multiLine=multi_line)
    it.put("1.json", json.dumps([{"id": 1, "n": "a"}, {"id": 2, "n": "b"}], indent=2 if multi_line == "true" else None))
    it.put("2.json", json.dumps({"id": 3, "n": "c"}, indent=2 if multi_line == "true" else None))
    it.run()
    assert it.rows() == [(1, "a", None), (2, "b", None), (3, "c", None)]


def test_dropmalformed_is_the_authors_choice(landing: Build) -> None:
    it = landing(mode="DROPMALFORMED")
    it.put("1.json", '{"id": 1}\nbroken\n')
    it.run()
    assert it.rows() == [("1", None)]


def test_failfast_stops_and_names_the_file(landing: Build) -> None:
    it = landing(mode="FAILFAST")
    file = it.put("one file.json", '{"id": 1}\nbroken\n')
    with pytest.raises(StreamingQueryException) as failure:
        it.run()
    error = describe_failure(failure.value, dataset="orders")
    assert error is not None
    assert error.condition == "AUTO_LOADER_MALFORMED_RECORD"
    assert error.facts["file"].endswith(str(file))


def test_metadata_can_be_selected_after_load_and_after_a_filter(landing: Build) -> None:
    it = landing()
    it.put_json("1.json", [{"id": 1}, {"id": 2, "x": 1}])
    it.transform = lambda frame: frame.where("id > 1").select("*", "_metadata.file_name", "_metadata.file_size")
    it.run()
    assert it.rows("id", "file_name", "file_size") == [("2", "1.json", (it.files / "1.json").stat().st_size)]


def test_a_new_field_is_found_although_the_flow_uses_one_column(landing: Build) -> None:
    it = landing()
    it.put_json("1.json", [{"id": 1}])
    it.run()
    it.transform = lambda frame: frame.select("id")
    it.put_json("2.json", [{"id": 2, "x": 1}])
    it.run()
    assert [evolution.new_columns for evolution in it.evolutions] == [("x",)]


@pytest.mark.slow  # test_partition_values.py has such columns
def test_partition_columns_come_from_the_path(landing: Build) -> None:
    it = landing()
    it.put_json("day=2026-01-01/1.json", [{"id": 1}])
    it.run()
    it.put_json("day=2026-01-02/1.json", [{"id": 2}])
    it.run()
    assert it.table.dtypes == [("id", "string"), ("day", "date"), ("_rescued_data", "string")]
    assert [str(row[1]) for row in it.rows()] == ["2026-01-01", "2026-01-02"]


def test_a_number_that_is_rounded_is_rescued_as_it_is(spark: SparkSession, landing: Build) -> None:
    hints = "a DECIMAL(4,2), who.b DECIMAL(4,1), l ARRAY<DECIMAL(3,1)>, m MAP<STRING, DECIMAL(3,1)>, big DECIMAL(38,0)"
    it = landing(schemaHints=f"id INT, {hints}")
    plain = {"a": 1.23, "who": {"b": 1.5}, "l": [1.5], "m": {"k": 1.5}, "big": 1}
    it.put_json(
        "1.json",
        [
            {"id": 1, **plain},
            {"id": 2, **plain, "a": 1.239},
            {"id": 3, **plain, "a": "99.999"},
            {"id": 4, **plain, "who": {"b": 1.25}, "l": [1, 2.01]},
            {"id": 5, **plain, "m": {"k": 0.0625}, "a": 1000},
            {"id": 6, **plain, "a": 1.2300},
        ],
    )
    rows = load_files(spark, it.read()).selectExpr("id", "a", "who.b", "l[0]", "m.k", "_rescued_data").collect()
    found = [(*row[:5], row[5] and json.loads(row[5])) for row in sorted(rows)]
    for row in found:
        assert row[5] is None or row[5].pop("_file_path").endswith("1.json")
    one, half = Decimal("1.23"), Decimal("1.5")
    assert found == [
        (1, one, half, half, half, None),
        (2, Decimal("1.24"), half, half, half, {"a": 1.239}),
        (3, None, half, half, half, {"a": "99.999"}),
        (4, one, Decimal("1.3"), Decimal(1), half, {"who": {"b": 1.25}, "l": [1, 2.01]}),
        (5, None, half, half, Decimal("0.1"), {"a": 1000, "m": {"k": 0.0625}}),
        (6, one, half, half, half, None),
    ]


def test_another_stretch_of_time_has_another_schema(landing: Build) -> None:
    it = landing()
    for time, name in ((1_000_000, "old"), (2_000_000, "new")):
        it.put(f"{name}.json", f'{{"{name}": 1}}\n', modified=time)
    it.options["modifiedBefore"] = "1970-01-18T00:00:00Z"
    assert it.load(persist=False)[0].columns == ["old", "_rescued_data"]
    it.options["modifiedAfter"] = it.options.pop("modifiedBefore")
    assert it.load(persist=False)[0].columns == ["new", "_rescued_data"]


def test_text_behind_a_record_is_not_lost(landing: Build) -> None:
    it = landing(schemaHints="id INT, n STRUCT<a: INT>, b STRING")
    lines = ['{"id": 1} x', '{"id": 2} ,', '{"id": 3, "n": {"a": 1}, "b": "} y"}', '{"id": 4} {"id": 5}', '{"id": 6}}']
    it.put("1.json", "".join(f"{line}\n" for line in lines))
    it.run()
    found = it.rows("id", "n.a", "b", "_rescued_data")
    rescued = {row[0]: row[1:] for row in found}
    assert (rescued[2], rescued[3]) == ((None, None, None), (1, "} y", None))
    for number, line in ((1, lines[0]), (4, lines[3]), (6, lines[4])):
        assert rescued[number] == (None, None, {"_corrupt_record": line})
