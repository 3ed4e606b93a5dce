"""Row filters and masks: what `penstock sql` and `show` give, and what the pipeline itself reads."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import DefinitionError, StateError
from penstock.graph.identifier import Identifier
from penstock.observe.stored.tables import StoredTable, read_table
from penstock.runtime.commands.query import run_sql
from penstock.runtime.storage_state.catalog import published_table
from penstock.storage import StorageLayout

SHOP = """
spark.sql('''CREATE OR REPLACE TEMPORARY FUNCTION keeps(kind STRING, wanted STRING)
    RETURNS BOOLEAN RETURN kind = wanted OR kind IS NULL''')
spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION hidden(name STRING, id BIGINT) RETURNS STRING RETURN concat('#', id)")

@dlt.table(
    schema="id BIGINT, kind STRING, name STRING COMMENT 'who' MASK main.security.hidden USING COLUMNS (ID)",
    row_filter="ROW FILTER main.security.keeps ON (kind, 'a')",
)
@dlt.expect_or_quarantine("early", "id < 4")
def people():
    return spark.readStream.schema("id BIGINT, kind STRING, name STRING").json("in")

@dlt.table
def all_names():
    return dlt.read("people").select("id", "name")
"""


def test_readers_get_the_enforcing_view(project: PipelineProject) -> None:
    kinds = ["a", "b", None]
    project.arrive("1", [{"id": n, "kind": kinds[n % 3], "name": f"name {n}"} for n in range(6)])
    project.write(SHOP)
    assert project.run().errors == ()
    assert project.rows("all_names", "name") == [f"name {n}" for n in range(4)], "the pipeline reads the base table"

    def sql(statement: str) -> list[tuple[object, ...]]:
        project.spark.sql("DROP TEMPORARY FUNCTION IF EXISTS keeps")
        return run_sql(project.config, statement, spark=project.spark)[1]

    visible = [(0, "a", "#0"), (2, None, "#2"), (3, "a", "#3")]
    assert sql("SELECT * FROM people ORDER BY id") == visible
    assert sql("SELECT count(*) FROM shop.people WHERE name LIKE 'name%'") == [(0,)]
    assert sql("SELECT count(*) FROM all_names") == [(4,)]
    shown = "SELECT * FROM `shop`.`people` VERSION AS OF 1 ORDER BY `id` DESC NULLS LAST LIMIT 2"
    assert sql(shown) == visible[:0:-1], "as 'penstock show' asks"
    read = set[Identifier]()
    run_sql(project.config, "SELECT * FROM people JOIN shop.all_names USING (id)", spark=project.spark, found=read.add)
    assert read == {Identifier("shop", "people"), Identifier("shop", "all_names")}, "for the record of reads"
    assert sql("SELECT id, kind, name FROM people__quarantine") == [(5, None, "#5")], "not (4, 'b')"

    table = StoredTable(Identifier("shop", "people"), str(project.path("people")))
    aside = StoredTable(Identifier("shop", "people__quarantine"), str(project.path("people__quarantine")))
    with pytest.raises(StateError) as refused:
        read_table(aside, limit=5)
    assert refused.value.condition == "TABLE_IS_PROTECTED"
    with pytest.raises(DefinitionError) as refused_elsewhere:
        published_table(StorageLayout(project.config.storage), table.identifier)
    assert refused_elsewhere.value.condition == "TABLE_IS_PRIVATE", "other pipelines would store what they read"
    with pytest.raises(StateError) as refused:
        read_table(table, limit=5)
    assert refused.value.condition == "TABLE_IS_PROTECTED"
    assert "penstock sql" in refused.value.fix
    with pytest.raises(StateError):
        read_table(table, limit=5, version=0)
    with pytest.raises(StateError):
        read_table(table, limit=5, timestamp=datetime(2026, 1, 1, tzinfo=UTC))

    code = (project.directory / "pipeline.py").read_text()
    (project.directory / "pipeline.py").write_text(code.replace("FUNCTION keeps", "FUNCTION other"))
    with pytest.raises(StateError) as gone:
        sql("SELECT * FROM people")
    assert gone.value.condition == "TABLE_PROTECTION_FAILED", "without its function the table stays closed"

    open_again = SHOP.replace(" MASK main.security.hidden USING COLUMNS (ID)", "").partition("    row_filter=")
    project.write(open_again[0] + open_again[2].partition("\n")[2])
    assert project.run().errors == ()
    assert len(sql("SELECT * FROM people WHERE name LIKE 'name%'")) == 4
    assert len(read_table(aside, limit=5).rows) == 2
    assert read_table(table, limit=9).version == DeltaTable(project.path("people")).version()
