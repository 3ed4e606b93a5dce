"""SQL files, SQL cells of notebooks and `spark.sql`: the rules find what they find in Python, at its place."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from penstock.care.lint.linting import LintReport, lint
from penstock.care.lint.sql.checks import SQL_CHECKS

EXAMPLES = tomllib.loads((Path(__file__).parent / "sql_examples.toml").read_text(encoding="utf-8"))
GROUPED = "SELECT shop, count(*) FROM STREAM(orders) GROUP BY shop"


def linted(folder: Path, name: str, text: str) -> LintReport:
    (folder / name).write_text(text, encoding="utf-8")
    return lint([folder / name])


def found(report: LintReport) -> list[tuple[str, str]]:
    assert report.errors == ()
    return [(each.rule.name, str(each.place)) for each in report.findings]


def test_every_rule_about_sql_has_examples() -> None:
    assert set(EXAMPLES) == set(SQL_CHECKS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_found_once_and_not_when_it_is_mended(name: str, tmp_path: Path) -> None:
    assert [rule for rule, _ in found(linted(tmp_path, "a.sql", EXAMPLES[name]["bad"]))] == [name]
    assert found(linted(tmp_path, "a.sql", EXAMPLES[name]["good"])) == []


def test_a_finding_has_line_and_column_in_characters_and_a_comment_takes_it_away(tmp_path: Path) -> None:
    text = (
        "CREATE OR REFRESH STREAMING TABLE a COMMENT 'größe'\nAS /* ü */ SELECT * FROM STREAM read_files('/mnt/a');\n"
    )
    assert found(linted(tmp_path, "a.sql", text)) == [("mount-path", f"{tmp_path}/a.sql:2:44")]
    ignored = linted(tmp_path, "a.sql", text.replace("\nAS", "\n-- penstock: ignore[mount-path] an old one\nAS"))
    assert (ignored.findings, ignored.ignored) == ((), 1)


def test_folders_are_searched_for_sql_too(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(EXAMPLES["mount-path"]["bad"])
    assert [each.rule.name for each in lint([tmp_path]).findings] == ["mount-path"]


def test_the_text_of_spark_sql_is_read_at_its_place(tmp_path: Path) -> None:
    script = f'counts = spark.sql("""\n  SELECT 1;\n    {GROUPED}\n""")\nagain = spark.sql("{GROUPED}")\n'
    rule = "aggregation-without-watermark"
    column = GROUPED.rindex("shop")
    assert found(linted(tmp_path, "a.py", script)) == [
        (rule, f"{tmp_path}/a.py:3:{column + 5}"),
        (rule, f"{tmp_path}/a.py:5:{column + len('again = spark.sql(') + 2}"),
    ]


@pytest.mark.parametrize(
    "script",
    [
        f'query = "{GROUPED}"\nspark.sql(query)\n',
        f'spark.sql(sqlQuery="{GROUPED}")\n',
        'spark.sql(f"SELECT {columns} FROM STREAM({table}) GROUP BY {keys}")\n',
        'spark.sql("SELECT shop, count(*) "\n          "FROM STREAM(orders) GROUP BY shop")\n',
    ],
)
def test_texts_with_gaps_and_of_several_parts_are_read(script: str, tmp_path: Path) -> None:
    assert [rule for rule, _ in found(linted(tmp_path, "a.py", script))] == ["aggregation-without-watermark"]


@pytest.mark.parametrize(
    "script",
    [
        "spark.sql(query)\n",
        'spark.sql("SELEC FROM (((")\n',
        'spark.sql("CREATE OR REFRESH STREAMING TABLE")\n',
        "spark.sql('it''s \\'unclosed')\n",
        f"marked = spark.readStream.table('a').withWatermark('at', '1 hour')\nspark.sql('{GROUPED}')\n",
    ],
)
def test_what_is_not_known_in_a_text_is_left_alone(script: str, tmp_path: Path) -> None:
    assert found(linted(tmp_path, "a.py", script)) == []


def test_a_secret_that_is_put_in_is_none_in_the_code(tmp_path: Path) -> None:
    text = "spark.sql(f\"CREATE TABLE a USING jdbc OPTIONS (url 'jdbc:x', password '{}')\")\n"
    assert [rule for rule, _ in found(linted(tmp_path, "a.py", text.format("tr0ub4dor")))] == ["secret-in-clear"]
    assert found(linted(tmp_path, "a.py", text.format("{password}"))) == []


@pytest.mark.parametrize("magic", ["%sql", "%%sql"])
def test_sql_cells_of_jupyter_are_read(magic: str, tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "source": "orders = 1"},
        {"cell_type": "code", "source": [f"{magic}\n", "-- counts\n", GROUPED]},
        {"cell_type": "code", "source": f"%sql {GROUPED}"},
        {"cell_type": "code", "source": "%%bash\nSELECT"},
    ]
    report = linted(tmp_path, "a.ipynb", json.dumps({"cells": cells}))
    column = GROUPED.rindex("shop") + 1
    assert [place for _, place in found(report)] == [
        f"{tmp_path}/a.ipynb, cell 2:3:{column}",
        f"{tmp_path}/a.ipynb, cell 3:1:{column + len('%sql ')}",
    ]


def test_a_notebook_whose_language_is_sql(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "source": GROUPED},
        {"cell_type": "code", "source": "%python\nspark.sql('SELECT 1')"},
    ]
    metadata = {"application/vnd.databricks.v1+notebook": {"language": "sql"}}
    report = linted(tmp_path, "a.ipynb", json.dumps({"cells": cells, "metadata": metadata}))
    assert [place for _, place in found(report)] == [f"{tmp_path}/a.ipynb, cell 1:1:{GROUPED.rindex('shop') + 1}"]


def test_sql_cells_of_databricks_are_read(tmp_path: Path) -> None:
    text = (
        "# Databricks notebook source\norders = 1\n\n# COMMAND ----------\n\n# MAGIC %sql\n# MAGIC -- counts\n"
        f"# MAGIC {GROUPED}\n\n# COMMAND ----------\n\n# MAGIC %md\n# MAGIC {GROUPED}\n"
    )
    column = len("# MAGIC ") + GROUPED.rindex("shop") + 1
    assert [place for _, place in found(linted(tmp_path, "a.py", text))] == [f"{tmp_path}/a.py:8:{column}"]


def test_a_notebook_of_databricks_in_sql(tmp_path: Path) -> None:
    text = (
        "-- Databricks notebook source\n-- MAGIC %python\n-- MAGIC x = 'it'\n\n-- COMMAND ----------\n\n"
        f"CREATE STREAMING LIVE TABLE a AS {GROUPED}\n\n-- COMMAND ----------\n\nSELECT * FROM a\n"
    )
    assert [place for _, place in found(linted(tmp_path, "a.sql", text))] == [f"{tmp_path}/a.sql:7:85"]


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("CREATE OR REFRESH STREAMING TABLE a AS SELECT 1;\n\nCREATE OR REFRESH STREAMNG TABLE b", "3:19", "STREAMING"),
        ("CREATE STREAMING LIVE TABLE a (CONSTRAINT b EXPECT (1 = 1) ON ERROR DROP ROW)", "1:63", "VIOLATION"),
        ("APPLY CHANGES INTO a FROM STREAM(b) KEYS (id)", "1:46", "SEQUENCE BY"),
        ("CREATE OR REFRESH STREAMING TABLE a AS SELECT 'b FROM c;\n", "1:47", "begins with '"),
    ],
)
def test_sql_that_does_not_parse_is_named_with_line_and_column(
    text: str, place: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "b.py").write_text("spark.sql('''" + EXAMPLES["mount-path"]["bad"] + "''')\n")
    (tmp_path / "a.sql").write_text(text)
    report = lint([tmp_path])
    [error] = report.errors
    assert (error.condition, error.facts["language"]) == ("LINT_SYNTAX_ERROR", "SQL")
    assert str(error.location) == f"{tmp_path}/a.sql:{place}"
    assert reason in error.facts["reason"]
    assert [each.rule.name for each in report.findings] == ["mount-path"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-- nothing yet\n",
        "CREATE TABLE orders (id serial PRIMARY KEY, at timestamptz DEFAULT now());\n",
        "CREATE FUNCTION f() RETURNS trigger AS $$ BEGIN RETURN NEW; END $$ LANGUAGE plpgsql;\nSELECT '/mnt/a';\n",
        "CREATE MATERIALIZED VIEW IF NOT EXISTS a TABLESPACE fast AS SELECT 1 WITH NO DATA;\n",
        "CREATE OR REFRESH STREAMING TABLE ${catalog}.${schema}.a AS SELECT * FROM STREAM(${source}) LIMIT ${n};\n",
        "CREATE OR REFRESH STREAMING TABLE a CLUSTER BY AUTO AS SELECT * FROM STREAM(b);\nGRANT SELECT ON a TO b;\n",
        "CREATE OR REFRESH STREAMING TABLE a AS SELECT 1;\nMERGE INTO x USING y ON x.id = y.id;\n",
    ],
)
def test_sql_of_other_databases_and_what_validate_judges_is_left_alone(text: str, tmp_path: Path) -> None:
    assert found(linted(tmp_path, "a.sql", text)) == []


def test_published_pipelines_parse(tmp_path: Path) -> None:
    report = lint([Path(__file__).parents[3] / "spark/published/pipelines"])
    assert report.files > 30
    assert report.errors == ()


def test_hostile_sql_takes_no_time_and_no_stack(tmp_path: Path) -> None:
    begin = "CREATE OR REFRESH STREAMING TABLE a AS "
    (tmp_path / "a.sql").write_text(begin + "SELECT * FROM (" * 5000 + "x" + ")" * 5000)
    (tmp_path / "b.sql").write_text(begin + "SELECT 1 UNION ALL " * 5000 + "SELECT 1")
    (tmp_path / "c.sql").write_text(begin + "WITH a AS (SELECT 1), " * 2000)
    report = lint([tmp_path])
    assert report.findings == ()
    assert {each.condition for each in report.errors} <= {"LINT_FILE_UNREADABLE", "LINT_SYNTAX_ERROR"}
