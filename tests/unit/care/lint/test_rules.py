"""Each rule finds what it is about, once, in the examples of its page and in others, and nothing else in them."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest
from tools.generate_lint_docs import TARGET, render_page

from penstock.care.lint.catalogue import CHECKS, rules
from penstock.care.lint.linting import findings_in
from penstock.care.lint.script import Script

NAMES = list(rules())
EXAMPLES = tomllib.loads((Path(__file__).parent / "examples.toml").read_text(encoding="utf-8"))


def found(code: str, *, notebook: bool = True) -> list[str]:
    """Returns the rules that find something, in the order of the code."""
    script = Script("job.py", code.split("\n"), ast.parse(code), notebook=notebook)
    return [finding.rule.name for finding, _ in findings_in(script)]


def test_the_catalogue_and_the_examples_have_every_rule() -> None:
    assert set(NAMES) == set(CHECKS) == set(EXAMPLES)
    assert len(NAMES) >= 30


@pytest.mark.parametrize("name", NAMES)
def test_an_example_of_its_page_is_found_and_mended(name: str) -> None:
    waits = name == "query-not-awaited"
    assert found(rules()[name].bad, notebook=not waits) == [name]
    assert found(rules()[name].good, notebook=not waits) == []


@pytest.mark.parametrize("name", NAMES)
def test_it_is_found_as_people_write_it(name: str) -> None:
    assert found(EXAMPLES[name]["bad"], notebook=name != "query-not-awaited") == [name]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_right_is_left_alone(name: str) -> None:
    assert found(EXAMPLES[name]["good"], notebook=name != "query-not-awaited") == []


APPENDS = """
def write(batch, batch_id):
    batch.write.format({format}).option({option}, "id").mode("append").save()

orders = spark.readStream.table("orders").writeStream.foreachBatch(write).option("checkpointLocation", "s3a://cp")
orders.trigger(availableNow=True).start()
"""
FILES = """
spark.readStream.format("cloudFiles").option("cloudFiles.format", {format}).load("s3a://lake/in")
"""
LOSS = """
spark.readStream.format({format}).schema(schema).option("failOnDataLoss", "false").load(place)
"""
INFERRED = """
orders = spark.readStream.option("inferSchema", "true").option("maxFilesPerTrigger", 9){more}.csv("s3a://lake/in")
"""
PRINTED = """
orders = spark.readStream.table("orders").writeStream.foreach({function}).option("checkpointLocation", "s3a://cp")
orders.trigger(availableNow=True).start()
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (APPENDS.format(format="'jdbc'", option="'a'"), ["foreach-batch-not-idempotent"]),
        (APPENDS.format(format="'org.apache.spark.sql.cassandra'", option="'a'"), []),
        (APPENDS.format(format="'org.elasticsearch.spark.sql'", option="'a'"), ["foreach-batch-not-idempotent"]),
        (APPENDS.format(format="'org.elasticsearch.spark.sql'", option="'es.mapping.id'"), []),
        (FILES.format(format="'json'"), ["schema-location-missing"]),
        (FILES.format(format="'BINARYFILE'"), []),
        (FILES.format(format="'text'"), []),
        (LOSS.format(format="'kafka'"), ["data-loss-ignored"]),
        (LOSS.format(format="'delta'"), ["data-loss-ignored"]),
        (INFERRED.format(more=""), ["schema-inferred"]),
        (INFERRED.format(more=".schema(schema)"), []),
        (INFERRED.replace("readStream", "read").format(more=""), []),
        (PRINTED.format(function="print"), ["debugging-sink"]),
        (PRINTED.format(function="lambda row: print(row)"), ["debugging-sink"]),
        (PRINTED.format(function="lambda row: send(row)"), []),
    ],
)
def test_code_near_the_border_of_a_rule(code: str, expected: list[str]) -> None:
    assert found(code) == expected


def test_an_option_that_the_source_does_not_know_is_not_judged() -> None:
    assert "data-loss-ignored" not in found(LOSS.format(format="'parquet'"))


@pytest.mark.parametrize("name", NAMES)
def test_its_words_can_be_read(name: str) -> None:
    rule = rules()[name]
    for text in (rule.why, rule.fix):
        assert text[0].isupper() or text.startswith("`")
        assert text.endswith(".")


def test_the_page_is_that_of_the_catalogue() -> None:
    assert TARGET.read_text(encoding="utf-8") == render_page(), "run: python tools/generate_lint_docs.py"
