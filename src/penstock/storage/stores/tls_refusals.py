"""How clients say that TLS cannot come about: the certificate is no good, or one side speaks none."""

from __future__ import annotations

import re
from typing import Final

_REFUSED: Final = re.compile(
    r"certificate[_ ]verify[_ ]failed|wrong[_ ]version[_ ]number|hostname .+ doesn't match"  # Python
    r"|invalid peer certificate|corrupt message of type InvalidContentType"  # delta-rs
    r"|curlCode: (?:51|60|77)\b"  # pyarrow
    r"|PKIX|Unsupported or unrecognized SSL message|subject alternative",  # Java
    re.IGNORECASE,
)


def is_tls_refusal(text: str) -> bool:
    """Whether an error's words are those of a client that will have no TLS with this server, however often it tries."""
    return _REFUSED.search(text) is not None
