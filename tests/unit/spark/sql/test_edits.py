from __future__ import annotations

from penstock.errors import StatementPosition
from penstock.spark.sql.edits import Edit, EditedStatement


def test_edits_in_any_order_and_the_way_back() -> None:
    statement = "SELECT a FROM long_name JOIN b ON true"
    edited = EditedStatement.of(statement, [Edit(29, 30, "`view`"), Edit(14, 23, "`v`"), Edit(23, 23, " AS n")])
    assert edited.text == "SELECT a FROM `v` AS n JOIN `view` ON true"
    origins = {
        word: edited.original_offset(edited.text.index(word)) for word in ("a FROM", "`v`", "JOIN", "`view`", "ON")
    }
    assert origins == {"a FROM": 7, "`v`": 14, "JOIN": 24, "`view`": 29, "ON": 31}
    assert edited.original_offset(len(edited.text)) == len(statement)


def test_positions_count_lines_and_columns_from_one() -> None:
    statement = "SELECT\n  a,\n\n  b"
    found = [str(StatementPosition.of(statement, offset)) for offset in (0, statement.index("a"), statement.index("b"))]
    assert found == [f"line {line}, column {column} of the statement" for line, column in ((1, 1), (2, 3), (4, 3))]
