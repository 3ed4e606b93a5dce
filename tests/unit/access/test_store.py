"""The record of grants: what it adds up to, who changed it, and what a crash or a stranger does to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from penstock.access.grants import Access, Securable
from penstock.access.statements import ChangeGrant, parse_statement
from penstock.access.store import read_grants, record_grant, recorded_grants, shown_grants
from penstock.config import PipelineConfig, load_project
from penstock.errors import StateError
from penstock.events.flows.facts import details_of
from penstock.events.log.audit import Actor
from penstock.graph.identifier import Identifier

ORDERS = Identifier("shop", "orders")
_MANY = """
import sys
from penstock.access.store import record_grant
from penstock.access.statements import parse_statement
from penstock.config import load_project

config = load_project(sys.argv[1])
for number in range(100_000):
    change = parse_statement(f"GRANT SELECT ON TABLE t{number} TO x", default_schema=config.schema)
    record_grant(config, change)
    print(number, flush=True)
"""


@pytest.fixture
def config(tmp_path: Path) -> PipelineConfig:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\nroles: {analysts: [ada], everyone: ['*']}\n")
    return load_project(tmp_path)


def readers(config: PipelineConfig) -> set[str]:
    return set(read_grants(config.storage).readers(ORDERS) or ())


def change(config: PipelineConfig, statement: str) -> None:
    parsed = parse_statement(statement, default_schema=config.schema)
    assert isinstance(parsed, ChangeGrant)
    record_grant(config, parsed, by=Actor("eve", "command line"))


def lines(config: PipelineConfig, edit: Callable[[list[str]], list[str]]) -> None:
    file = Path(config.storage) / "grants" / "000001.jsonl"
    file.write_text("".join(edit(file.read_text().splitlines(keepends=True))))


def test_the_record_says_what_holds_and_who_changed_it(config: PipelineConfig) -> None:
    assert read_grants(config.storage).readers(ORDERS) is None
    change(config, "GRANT SELECT ON TABLE orders TO analysts")
    change(config, "GRANT SELECT ON SCHEMA shop TO boss")
    change(config, "GRANT SELECT ON TABLE Shop.Orders TO bob")
    change(config, "REVOKE SELECT ON TABLE ORDERS FROM bob")
    assert readers(config) == {"analysts", "boss"}
    found = [details_of(each.event) for each in recorded_grants(config.storage) if each.event is not None]
    assert [(each["action"], each["user_name"], each["arguments"]["on"]) for each in found] == [
        ("GRANT", "eve", "TABLE shop.orders"),
        ("GRANT", "eve", "SCHEMA shop"),
        ("GRANT", "eve", "TABLE Shop.Orders"),
        ("REVOKE", "eve", "TABLE shop.ORDERS"),
    ]


def test_show_grants_lists_what_reaches_a_table(config: PipelineConfig) -> None:
    for statement in ("TABLE orders TO analysts", "SCHEMA shop TO boss", "TABLE people TO bob", "CATALOG c TO x"):
        change(config, f"GRANT SELECT ON {statement}")
    access = Access(read_grants(config.storage), config.access.roles)
    on_orders = [("analysts", "SELECT", "TABLE", "shop.orders"), ("boss", "SELECT", "SCHEMA", "shop")]
    assert shown_grants(access, None, Securable.of_table(ORDERS)) == on_orders
    assert shown_grants(access, "ada", None) == on_orders[:1], "by the role"
    assert len(shown_grants(access, None, None)) == 4


@pytest.mark.parametrize(
    "edit",
    [
        lambda lines: [lines[0].replace("analysts", "mallory"), *lines[1:]],
        lambda lines: lines[1:],
        lambda lines: [lines[0], lines[2]],
        lambda lines: [lines[0], "{}\n", *lines[1:]],
        lambda lines: [*lines, lines[0]],
    ],
    ids=["changed", "beginning taken out", "revoke taken out", "foreign line", "repeated"],
)
def test_a_changed_record_opens_nothing(config: PipelineConfig, edit: Callable[[list[str]], list[str]]) -> None:
    change(config, "GRANT SELECT ON TABLE orders TO analysts")
    change(config, "REVOKE SELECT ON TABLE orders FROM analysts")
    change(config, "GRANT SELECT ON TABLE people TO analysts")
    lines(config, edit)
    with pytest.raises(StateError) as damaged:
        read_grants(config.storage)
    assert damaged.value.condition == "GRANTS_DAMAGED"
    assert damaged.value.facts["storage"] == config.storage


def test_a_line_cut_off_by_a_crash_counts_for_nothing(config: PipelineConfig) -> None:
    change(config, "GRANT SELECT ON TABLE orders TO analysts")
    file = Path(config.storage) / "grants" / "000001.jsonl"
    with file.open("a") as opened:
        opened.write(file.read_text()[:-20])
    assert readers(config) == {"analysts"}
    change(config, "GRANT SELECT ON TABLE orders TO bob")
    assert readers(config) == {"analysts", "bob"}


def test_changes_at_the_same_moment_are_all_kept(config: PipelineConfig) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: change(config, f"GRANT SELECT ON TABLE orders TO u{number}"), range(40)))
    assert readers(config) == {f"u{number}" for number in range(40)}


def test_what_was_confirmed_survives_kill_9(config: PipelineConfig, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _MANY, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for _ in range(20):
                process.stdout.readline()
        finally:
            os.kill(process.pid, signal.SIGKILL)
        confirmed = [19, *map(int, process.stdout.read().split())][-1]
    tables = {on.table for on in read_grants(config.storage).by_securable}
    assert {f"t{number}" for number in range(confirmed + 1)} <= tables
    assert len(tables) <= confirmed + 2
    change(config, "GRANT SELECT ON TABLE orders TO ada")
    assert readers(config) == {"ada"}
