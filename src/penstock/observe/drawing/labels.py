"""Names as labels: as short as the room that they get."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size


def shorten(text: str, room: int, ellipsis: str = "…") -> str:
    """Returns `text` in at most `room` cells; the middle goes, because both ends tell relatives apart."""
    if cell_len(text) <= room:
        return text
    tail = max((room - 1) // 2, 0)
    head = max(room - 1 - tail, 0)
    end = text[len(text) - tail :]
    while cell_len(end) > tail:
        end = end[1:]
    return set_cell_size(text, head) + ellipsis + end
