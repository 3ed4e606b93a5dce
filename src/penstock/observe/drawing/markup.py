"""Text in drawings: shortened, and escaped for SVG."""

from __future__ import annotations

from html import escape
from urllib.parse import quote

from rich.cells import cell_len, set_cell_size

from penstock.errors.text import clean


def shorten(text: str, room: int) -> str:
    """Returns `text` in at most `room` cells; the middle goes, because both ends distinguish similar names."""
    if cell_len(text) <= room:
        return text
    tail = max((room - 1) // 2, 0)
    head = max(room - 1 - tail, 0)
    end = text[len(text) - tail :]
    while cell_len(end) > tail:
        end = end[1:]
    return set_cell_size(text, head) + "…" + end


_NOT_XML = {0xFFFE: "\N{REPLACEMENT CHARACTER}", 0xFFFF: "\N{REPLACEMENT CHARACTER}"}


def xml_text(value: str) -> str:
    """Returns `value` on one line, escaped for text and for attributes in double quotes."""
    return escape(clean(value).translate(_NOT_XML), quote=True)


def xml_address(value: str) -> str:
    """Returns an address, escaped for an attribute.

    What XML and UTF-8 cannot hold is percent-encoded; an address that is quoted already stays as it is.
    """
    return escape(quote(value, safe="%/:?#[]@!$&'()*+,;=~", errors="replace"), quote=True)
