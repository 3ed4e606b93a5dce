"""Text of a user's file that still knows where each of its characters stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from penstock.errors import SourceLocation


@dataclass(frozen=True, slots=True)
class Anchor:
    """From `offset` on, the text is that of the file from `line` and `column` (both from 1) on.

    What is not `verbatim` (the value of a parameter) stands as a whole at that one place.
    """

    offset: int
    line: int
    column: int
    verbatim: bool = True


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A text taken from the file `path`, where parts of it can have been replaced.

    `anchors` are sorted by offset; the first is at offset 0.
    """

    text: str
    path: str
    anchors: tuple[Anchor, ...]

    @classmethod
    def of(cls, text: str, path: str, *, line: int = 1, margin: int = 0) -> PlacedText:
        """Returns text that begins at `line` of the file, each of its lines `margin` characters further right there."""
        if not margin:
            return cls(text, path, (Anchor(0, line, 1),))
        starts = [0, *(match.end() for match in re.finditer("\n", text))]
        anchors = (Anchor(start, line + number, 1 + margin) for number, start in enumerate(starts))
        return cls(text, path, tuple(anchors))

    def location(self, offset: int) -> SourceLocation:
        """Returns the place of the character at `offset`; the end of the text has a place, too."""
        anchor = self._anchor(offset)
        return SourceLocation(self.path, anchor.line, anchor.column)

    def offset_at(self, line: int, position: int) -> int:
        """Returns the offset of a place in the text's own lines: `line` from 1, `position` from 0, as Spark counts."""
        start = 0
        for _ in range(line - 1):
            start = self.text.find("\n", start) + 1
        return min(start + position, len(self.text))

    def part(self, start: int, stop: int) -> PlacedText:
        """Returns `text[start:stop]`, with its places."""
        inside = [anchor for anchor in self.anchors if start < anchor.offset <= stop]
        moved = [Anchor(anchor.offset - start, anchor.line, anchor.column, anchor.verbatim) for anchor in inside]
        first = self._anchor(start)
        return PlacedText(
            self.text[start:stop], self.path, (Anchor(0, first.line, first.column, first.verbatim), *moved)
        )

    def replaced(self, replacements: list[tuple[int, int, str]]) -> PlacedText:
        """Returns the text with each `[start, stop)` replaced; what is put in has the place of what it replaces."""
        texts: list[str] = []
        anchors: list[Anchor] = []
        length = end = 0
        for start, stop, text in [*sorted(replacements), (len(self.text), len(self.text), "")]:
            part = self.part(end, start)
            texts += [part.text, text]
            anchors += [Anchor(each.offset + length, each.line, each.column, each.verbatim) for each in part.anchors]
            length += len(part.text)
            place = self._anchor(start)
            anchors.append(Anchor(length, place.line, place.column, verbatim=False))
            length += len(text)
            end = stop
        return PlacedText("".join(texts), self.path, tuple(anchors))

    def _anchor(self, offset: int) -> Anchor:
        """Returns an anchor at exactly `offset`."""
        anchor = self.anchors[bisect_right(self.anchors, offset, key=lambda each: each.offset) - 1]
        if not anchor.verbatim:
            return anchor
        between = self.text[anchor.offset : offset]
        lines = between.count("\n")
        column = len(between) - between.rfind("\n") if lines else anchor.column + len(between)
        return Anchor(offset, anchor.line + lines, column)
