"""`is_member` in row filters and queries, and grants on the tables that a query in Spark names."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.spark.pipeline_project import PipelineProject

from penstock.config.sections.access import AccessSettings
from penstock.errors import StateError
from penstock.graph.identifier import Identifier
from penstock.runtime.commands.query import run_sql

PEOPLE = """
spark.sql('''CREATE OR REPLACE TEMPORARY FUNCTION visible(kind STRING) RETURNS BOOLEAN
    RETURN kind = 'a' OR is_member('auditors') OR IS_ACCOUNT_GROUP_MEMBER('managers')''')

@dlt.table(schema="id BIGINT, kind STRING", row_filter="ROW FILTER visible ON (kind)")
def people():
    return spark.readStream.schema("id BIGINT, kind STRING").json("in")
"""
"""As Databricks' documentation writes row filters for groups."""


def test_a_row_filter_may_depend_on_the_readers_role(project: PipelineProject) -> None:
    project.arrive("1", [{"id": number, "kind": "ab"[number % 2]} for number in range(4)])
    project.write(PEOPLE)
    assert project.run().errors == ()

    def sql(statement: str, **roles: frozenset[str]) -> list[tuple[object, ...]]:
        config = replace(project.config, access=AccessSettings(roles))
        return run_sql(config, statement, spark=project.spark)[1]

    def count(**roles: frozenset[str]) -> object:
        return sql("SELECT count(*) FROM people", **roles)[0][0]

    user = str(sql("SELECT current_user()")[0][0])
    assert count() == 2
    assert count(auditors=frozenset({"somebody else", "it's"})) == 2
    assert count(auditors=frozenset({user})) == 4
    assert count(managers=frozenset({"*"})) == 4
    assert count(others=frozenset({user})) == 2
    query = "SELECT is_member('auditors'), is_account_group_member('none'), is_member(NULL)"
    assert sql(query, auditors=frozenset({user})) == [(True, False, False)]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM people",
        "SELECT 1 WHERE EXISTS (SELECT * FROM shop.People)",
        "WITH p AS (SELECT * FROM people) SELECT CAST(kind AS INT) FROM p",
    ],
)
def test_a_query_is_refused_before_it_reads(project: PipelineProject, statement: str) -> None:
    project.arrive("1", [{"id": 1, "kind": "a"}])
    project.write(PEOPLE)
    assert project.run().errors == ()

    def refuse(table: Identifier) -> None:
        raise StateError("INSUFFICIENT_PERMISSIONS", user="eve", name=table, principal="eve")

    with pytest.raises(StateError) as refused:
        run_sql(project.config, statement, spark=project.spark, found=refuse)
    assert refused.value.condition == "INSUFFICIENT_PERMISSIONS"
