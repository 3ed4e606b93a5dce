from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors.text import clean


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ä and 表", "plain text, ä and 表"),
        ("two\nlines\r\nand a\ttab", "two lines and a tab"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;never closed", ""),
        ("\x9b2Jgone", "gone"),
        ("\x1bcreset", "reset"),
        ("a\u202eb\u200bc", "abc"),
        ("a\u2028INFO forged", "a INFO forged"),
        ("a\udc80b", "ab"),
        ("  spaces  ", "spaces"),
    ],
)
def test_text_becomes_one_harmless_line(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text(alphabet=st.characters(min_codepoint=0, max_codepoint=0x2100)), st.none() | st.integers(1, 20))
def test_nothing_harmful_is_left(text: str, limit: int | None) -> None:
    line = clean(text, limit=limit)
    assert len(line.splitlines()) <= 1
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in line)
    assert limit is None or len(line) <= limit


def test_a_long_text_is_cut() -> None:
    assert clean("abcdef", limit=4) == "abc…"
    assert clean("abcd", limit=4) == "abcd"
