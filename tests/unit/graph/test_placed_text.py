"""Where each character of a text stands in its file, whatever was cut out and put in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SourceLocation
from penstock.graph.sql.placed_text import PlacedText

TEXTS = st.text(alphabet="ab;$\n\r ", max_size=40)


def _place(text: str, offset: int, line: int = 1, margin: int = 0) -> SourceLocation:
    lines = text[:offset].split("\n")
    return SourceLocation("f.sql", line + len(lines) - 1, len(lines[-1]) + 1 + margin)


@given(TEXTS, st.integers(0, 9), st.data())
def test_each_character_of_a_part_stands_where_it_stood(text: str, margin: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, len(text)))
    part = PlacedText.of(text, "f.sql", line=7, margin=margin).part(start, stop)
    assert part.text == text[start:stop]
    for offset in range(len(part.text) + 1):
        assert part.location(offset) == _place(text, start + offset, 7, margin)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=5), TEXTS)
def test_what_stands_behind_a_replacement_keeps_its_place(pairs: list[tuple[str, str]], tail: str) -> None:
    """Each pair is a text and the value of the parameter behind it."""
    file, wanted, replacements = "", "", []
    places = []
    for kept, value in pairs:
        places += [_place(file + kept, len(file) + each) for each in range(len(kept))]
        file, wanted = file + kept, wanted + kept
        places += [_place(file, len(file))] * len(value)
        replacements.append((len(file), len(file) + 3, value))
        file, wanted = file + "${k", wanted + value
    places += [_place(file + tail, len(file) + each) for each in range(len(tail))]
    replaced = PlacedText.of(file + tail, "f.sql").replaced(replacements)
    assert replaced.text == wanted + tail
    assert [replaced.location(offset) for offset in range(len(replaced.text))] == places
    for start in range(len(replaced.text)):
        assert replaced.part(start, len(replaced.text)).location(0) == places[start]


def test_spark_s_lines_and_positions() -> None:
    text = PlacedText.of("ab\ncd\n\nef", "f.sql", line=3)
    assert [str(text.location(text.offset_at(*place))) for place in ((1, 0), (1, 1), (2, 1), (4, 0), (4, 99))] == [
        "f.sql:3:1",
        "f.sql:3:2",
        "f.sql:4:2",
        "f.sql:6:1",
        "f.sql:6:3",
    ]
