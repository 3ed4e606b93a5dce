from __future__ import annotations

from penstock.spark.sql.scanner import Words


def test_a_call_ends_at_its_own_parenthesis() -> None:
    text = 'FROM STREAM /* ( */ f(\')\', `)`, (1), -- )\n "\\")") x'
    scanner = Words(text).scan(5)
    assert scanner.words("stream")
    assert not scanner.symbol("(")
    scanner.name()
    assert scanner.parentheses()
    assert text[scanner.stop :] == " x"
    assert scanner.part() == "x"
    assert scanner.part() is None


def test_names_and_keywords_are_taken_whole_or_not_at_all() -> None:
    text = "a.`b``c` . d IDENTIFIED BY `x y`"
    scanner = Words(text).scan(0)
    scanner.name()
    assert text[: scanner.stop] == "a.`b``c` . d"
    assert not scanner.words("IDENTIFIED", "AS")
    assert scanner.words("identified", "by")
    assert scanner.part() == "x y"
    assert not scanner.parentheses()


def test_what_a_place_stands_behind() -> None:
    text = "TABLE ((t)) JOIN u"
    assert Words(text).is_after(text.index("t)"), "table")
    assert not Words(text).is_after(text.index("u"), "table")
    assert not Words(text).is_after(0, "table")
