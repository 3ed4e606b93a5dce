"""Table functions of a query, streaming and batch, in one pipeline."""

from __future__ import annotations

import pytest
from tests.spark.pipeline_project import PipelineProject

FIRST = [{"id": 1, "who": {"name": "Ann"}, "n": 2.5}, {"id": 2, "who": {"name": "Bob"}, "n": 3}]
SECOND = [{"id": 3, "who": {"name": "Cy"}, "n": "odd"}]

PIPELINE = '''
@dlt.table
def streamed():
    return spark.sql("""
        SELECT *, who.name AS name, _metadata.file_name AS file FROM STREAM read_files(
            "in",                                     -- a double-quoted string
            format => 'json', maxFilesPerTrigger => 1 + 1, schemaHints => 'id LONG', inferschema => true
        ) AS f
    """)

@dlt.table
def enclosed():
    return spark.sql("SELECT id FROM STREAM(read_files(concat('/Volumes/main', '/raw'), format => lower('JSON'))) f")

@dlt.table
def batch():
    return spark.sql("SELECT id, n, _rescued_data, _metadata.file_name AS file FROM read_files('in', schemaEvolutionMode => 'rescue')")

@dlt.table
def given():
    return spark.sql("SELECT * FROM read_files('in', format => 'json', schema => 'id INT, n STRING')")

@dlt.table
def csv_files():
    return spark.sql("SELECT * EXCEPT (_rescued_data) FROM read_files('${lines}', format => 'csv', sep => ';')")

@dlt.table
def legacy():
    return spark.sql("""SELECT * FROM cloud_files("in", "json", map("cloudFiles.inferColumnTypes", "true"))""")

@dlt.table
def strings():
    return spark.sql("SELECT id FROM STREAM(cloud_files('in', 'json')) IDENTIFIED BY mine")

@dlt.table
def typed():
    return spark.sql("SELECT * FROM cloud_files('in', 'json', map('schema', 'id INT', 'cloudFiles.maxFilesPerTrigger', '1'))")

@dlt.table
def again():
    return spark.sql("SELECT id FROM STREAM read_stream(:t, skipChangeCommits => true, maxFilesPerTrigger => 5) s", args={"t": "LIVE.streamed"})

@dlt.table
def by_path():
    return spark.sql("SELECT id FROM STREAM json.`in` UNION ALL SELECT id FROM STREAM(LIVE.strings)")

@dlt.table
def options():
    return spark.sql("SELECT s.id FROM STREAM(LIVE.streamed) WITH (maxFilesPerTrigger = 1) IDENTIFIED BY chosen AS s")

@dlt.table
def joined():
    return spark.sql("""
        WITH f AS (SELECT * FROM STREAM read_files('in', format => 'json'))
        SELECT f.id, k.word FROM f JOIN read_files('words.csv') k ON f.id = k.id
    """)
'''  # noqa: E501


@pytest.mark.slow
def test_files_as_streams_and_as_tables(project: PipelineProject) -> None:
    project.settings |= {"paths": "{/Volumes/main/raw: ./in}", "configuration": "{lines: lines.csv}"}
    project.arrive("1", FIRST)
    (project.directory / "lines.csv").write_text("id;word\n007;'x'\n", encoding="utf-8")
    (project.directory / "words.csv").write_text("id,word\n1,one\n3,three\n", encoding="utf-8")
    project.write(PIPELINE)
    report = project.validate()
    assert report.errors == ()
    assert report.graph is not None
    schemas = {identifier.name: str(schema) for identifier, schema in report.graph.stored_schemas.items()}
    assert schemas["streamed"] == (
        "id bigint, n double, who struct<name:string>, _rescued_data string, name string, file string"
    )
    assert schemas["given"] == "id int, n string"
    assert schemas["csv_files"] == "id int, word string"
    assert schemas["strings"] == "id string"
    assert schemas["typed"] == "id int"
    assert schemas["joined"] == "id bigint, word string"
    assert schemas["legacy"] == "id bigint, n double, who struct<name:string>, _rescued_data string"
    assert schemas["enclosed"] == schemas["again"] == "id bigint"
    kinds = {identifier.name: type(table).__name__ for identifier, table in report.graph.tables.items()}
    assert {name for name, kind in kinds.items() if kind == "MaterializedView"} == {"batch", "given", "csv_files"}
    names: dict[str, list[str | None]] = {}
    for flow in report.graph.flows:
        names[flow.declaration.target.name] = [read.name for read in flow.inputs]
    assert {name: names[name] for name in ("streamed", "strings", "by_path", "options")} == {
        "streamed": ["cloudFiles_in"],
        "strings": ["mine"],
        "by_path": ["cloudFiles_in", "strings"],
        "options": ["chosen"],
    }  # fmt: skip

    # The others differ in what they are analysed to, not in how they run.
    chosen = ("streamed", "batch", "csv_files", "strings", "options")
    assert project.run(refresh=chosen).errors == ()
    project.arrive("2", SECOND)
    assert project.run(refresh=("streamed", "batch", "options")).errors == ()
    assert project.rows("streamed", "id", "name", "n") == [(1, "Ann", 2.5), (2, "Bob", 3.0), (3, "Cy", None)]
    assert project.rows("batch", "id", "file") == [(1, "1.json"), (2, "1.json"), (3, "2.json")]
    assert project.rows("csv_files", "id", "word") == [(7, "'x'")]
    assert project.rows("strings", "id") == ["1", "2"]
    assert project.rows("options", "id") == [1, 2, 3]


def test_nothing_is_left_in_the_session(project: PipelineProject) -> None:
    project.arrive("1", FIRST)
    query = "SELECT f.* FROM read_files('in') f JOIN range(1) ON true"
    project.write(f"@dlt.table\ndef one():\n    return spark.sql({query!r})\n")
    assert project.run().errors == ()
    functions = project.spark._jsparkSession.sessionState().tableFunctionRegistry().listFunction().mkString(" ")
    tables = project.spark.sql("SHOW TABLES").collect()
    names = [table.tableName for table in tables if table.isTemporary] + functions.split()
    assert any("range" in name for name in names)
    assert [name for name in names if "__penstock" in name] == []
