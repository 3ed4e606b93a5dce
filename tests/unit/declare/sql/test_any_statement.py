"""Whatever stands in a SQL file is declared or is an error with a place, and what stands behind it is read."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.declare import PipelineRegistry, load_pipeline
from penstock.graph.sql.tokens import TRIVIA, tokenise

GOLDEN = Path(__file__).parents[3] / "golden" / "fixtures" / "sql"
GOOD = [file.read_text(encoding="utf-8") for file in sorted(GOLDEN.glob("*/ok.sql"))]
WORDS = sorted({token.text for text in GOOD for token in tokenise(text) if token.kind not in TRIVIA})
ODD = st.sampled_from([*WORDS, "'", '"', "`", "/*", "*/", "--", "\\", "${none}", "<", ">", "\n"])


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Good statements, of which some tokens are replaced."""
    tokens = [token.text for token in tokenise(draw(st.sampled_from(GOOD)))]
    for _ in range(draw(st.integers(1, 3))):
        tokens[draw(st.integers(0, len(tokens) - 1))] = draw(st.one_of(ODD, st.just("")))
    return " ".join(tokens)


LAST = "CREATE MATERIALIZED VIEW the_last AS SELECT 1"


def load(text: str) -> PipelineRegistry:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "p.sql"
        file.write_text(text, encoding="utf-8", newline="")
        return load_pipeline([file], root=Path(folder), configuration={"k": "v"})


@settings(deadline=None)
@given(st.one_of(damaged(), st.lists(ODD, max_size=40).map(" ".join)))
def test_every_statement_is_declared_or_an_error_at_its_place(text: str) -> None:
    registry = load(f"{text}\n-- COMMAND ----------\n{LAST}")
    for error in registry.errors:
        assert error.condition not in {"PIPELINE_FILE_FAILED", "INTERNAL_ERROR"}, text
        assert str(error.location).count(":") == 2
        assert "<" not in error.fix
    unclosed = any("begins with" in error.facts.get("expected", "") for error in registry.errors)
    in_comment_or_string = "/*" in text or "'" in text or '"' in text or "`" in text
    assert unclosed or in_comment_or_string or "the_last" in {each.identifier.name for each in registry.datasets}


@pytest.mark.parametrize("opening", ["(", "(1 + (", "ARRAY<"])
def test_however_deep_parentheses_are(opening: str) -> None:
    deep = opening * 5000
    registry = load(
        f"CREATE MATERIALIZED VIEW a (x {deep}; {LAST}; CREATE MATERIALIZED VIEW b (CONSTRAINT c EXPECT ({deep}"
    )
    assert [error.condition for error in registry.errors] == ["PARSE_SYNTAX_ERROR"] * 2
    assert [dataset.identifier.name for dataset in registry.datasets] == ["the_last"]
