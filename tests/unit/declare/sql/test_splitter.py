"""SQL text in tokens and statements: nothing is lost, and a `;` counts only where it separates."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.declare.sql.splitter import pieces, split
from penstock.graph.sql.placed_text import PlacedText
from penstock.graph.sql.tokens import TRIVIA, TokenKind, string_value, tokenise

FRAGMENTS = st.sampled_from(
    [
        ";",
        "'",
        '"',
        "`",
        "\\",
        "--",
        "/*",
        "*/",
        "\n",
        "\r\n",
        "-- COMMAND ----------\n",
        "-- MAGIC x'\\\n",
        "r'",
        "${a}",
        *("$", "{", " ", "SELECT 1", "créer", "\u2028", "'a;b'", "(", ")", "<", ">", "1e5", "=", "\0"),
    ]
)
TEXTS = st.one_of(st.text(), st.lists(FRAGMENTS).map("".join))


@given(TEXTS)
def test_no_character_is_lost(text: str) -> None:
    tokens = tokenise(text)
    assert "".join(token.text for token in tokens) == text
    assert all(token.text for token in tokens)
    assert [token.start for token in tokens] == [0, *itertools.accumulate(len(each.text) for each in tokens)][:-1]
    assert [token for piece in pieces(tokens) for token in piece] == list(tokens)


@given(TEXTS)
def test_statements_are_parts_of_the_text_in_their_order(text: str) -> None:
    source = PlacedText.of(text, "f.sql")
    end = 0
    for statement in split(source):
        place = statement.location(0)  # the same text can stand in a comment before it
        start = source.offset_at(place.line or 1, (place.column or 1) - 1)
        assert text.startswith(statement.text, start)
        between = [token for token in tokenise(text) if end <= token.start < start]
        assert all(token.kind in TRIVIA or token.text == ";" for token in between)
        end = start + len(statement.text)
    assert all(token.kind in TRIVIA or token.text == ";" for token in tokenise(text) if token.start >= end)


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        (" ;\n; -- a; b\n /* c; */", []),
        ("a; b", ["a", "b"]),
        ("a;b;", ["a", "b"]),
        ("'a;b' \"c;d\" `e;f`; g", ["'a;b' \"c;d\" `e;f`", "g"]),
        (r"'it''s; \'so;\\'; b", [r"'it''s; \'so;\\'", "b"]),
        (r"r'\'; b", [r"r'\'", "b"]),
        (r"R" + r'"\"; b', [r"R" + r'"\"', "b"]),
        ("a -- x; y\n+ 1; b", ["a -- x; y\n+ 1", "b"]),
        ("a /* /* ; */ ; */ + 1; b", ["a /* /* ; */ ; */ + 1", "b"]),
        ("a -- x \\\n; y\n+ 1; b", ["a -- x \\\n; y\n+ 1", "b"]),
        ("a\n-- COMMAND ----------\nb", ["a", "b"]),
        ("a -- COMMAND ----------\nb", ["a -- COMMAND ----------\nb"]),
        ("a\n-- COMMAND ----------\n;b\n--COMMAND--------\n\n", ["a", "b"]),
        ("'a\n-- COMMAND ----------\nb'", ["'a\n-- COMMAND ----------\nb'"]),
        ("-- MAGIC %md it's; \\\n-- MAGIC `b`\na", ["a"]),
        ("SELECT '${a;b}'; b", ["SELECT '${a;b}'", "b"]),
        ("a; 'not closed; b", ["a", "'not closed; b"]),
    ],
)
def test_where_a_statement_ends(text: str, statements: list[str]) -> None:
    assert [statement.text for statement in split(PlacedText.of(text, "f.sql"))] == statements


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("'a'", "a"),
        ('"a"', "a"),
        ("'it''s'", "it's"),
        ('"a""b"', 'a"b'),
        (r"'it\'s'", "it's"),
        (r"'a\nb\tc\\d'", "a\nb\tc\\d"),
        (r"'\u00e9\101'", "éA"),
        (r"'50\% \_x'", r"50\% \_x"),
        (r"r'a\nb'", r"a\nb"),
        (r"'\\''a'", "\\'a"),
        ("''", ""),
        ("'\\'\\''''", "'''"),
        ("'\"\"'", '""'),
    ],
)
def test_what_a_string_means(literal: str, value: str) -> None:
    (token,) = tokenise(literal)
    assert token.kind is TokenKind.STRING
    assert string_value(token) == value
