"""SQL queries are asked after what they name, so that none is asked in vain; nothing depends on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.declare import load_pipeline
from penstock.graph.reading_order import reading_order

SQL = """
    CREATE MATERIALIZED VIEW d AS SELECT a FROM `C` JOIN b USING (x);
    CREATE MATERIALIZED VIEW c AS SELECT 'a', /* a */ x FROM LIVE.b; -- a
    CREATE STREAMING TABLE b;
    CREATE FLOW f AS INSERT INTO b BY NAME SELECT * FROM STREAM(v);
    CREATE TEMPORARY VIEW v AS SELECT * FROM silver.e;
    CREATE MATERIALIZED VIEW silver.e AS SELECT 1;
    CREATE MATERIALIZED VIEW a AS SELECT 1;
"""


def _order(folder: Path, text: str) -> list[str]:
    (folder / "p.sql").write_text(text, encoding="utf-8")
    return [identifier.name for identifier in reading_order(load_pipeline([folder / "p.sql"], root=folder).graph())]


def test_each_dataset_comes_after_those_that_it_names(tmp_path: Path) -> None:
    assert _order(tmp_path, SQL) == ["a", "e", "v", "b", "c", "d"]


@pytest.mark.parametrize(
    ("pairs", "order"),
    [
        (["ab", "bc", "ca"], ["c", "b", "a"]),
        (["aa", "ba"], ["a", "b"]),
        (["ax", "by"], ["a", "b"]),
    ],
)
def test_circles_and_unknown_names_end(tmp_path: Path, pairs: list[str], order: list[str]) -> None:
    text = ";".join(f"CREATE MATERIALIZED VIEW {pair[0]} AS TABLE {pair[1]}" for pair in pairs)
    assert _order(tmp_path, text) == order


def test_a_long_chain_needs_no_recursion(tmp_path: Path) -> None:
    last = 1500
    chain = [f"CREATE MATERIALIZED VIEW t{n} AS TABLE t{n + 1}" for n in range(last)]
    names = _order(tmp_path, ";".join([*chain, f"CREATE MATERIALIZED VIEW t{last} AS SELECT 1"]))
    assert names == [f"t{n}" for n in reversed(range(last + 1))]
