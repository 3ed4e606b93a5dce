"""Names that others chose, as text and addresses in SVG."""

from __future__ import annotations

from html import escape
from urllib.parse import quote

from penstock.events.text import clean

_NOT_XML = {0xFFFE: "\N{REPLACEMENT CHARACTER}", 0xFFFF: "\N{REPLACEMENT CHARACTER}"}


def xml_text(value: str) -> str:
    """Returns `value` on one line, escaped for text and for attributes in double quotes."""
    return escape(clean(value).translate(_NOT_XML), quote=True)


def xml_address(value: str) -> str:
    """Returns an address, escaped for an attribute.

    What XML and UTF-8 cannot hold is percent-encoded; an address that is quoted already stays as it is.
    """
    return escape(quote(value, safe="%/:?#[]@!$&'()*+,;=~", errors="replace"), quote=True)
