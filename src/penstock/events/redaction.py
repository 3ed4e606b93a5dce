"""Options of sinks that may be shown: any other could hold a password."""

from __future__ import annotations

import re
from typing import Final

REDACTED: Final = "*** (redacted)"
_PLACES: Final = frozenset(
    {
        *("kafka.bootstrap.servers", "mergeschema", "path", "tablename", "topic"),
        *("dbtable", "mode", "partitionby", "sequenceby", "stagingschema"),
    }
)
# Whatever is before an @, when there is a colon in it: a key may hold slashes.
_CREDENTIALS: Final = re.compile(r"(?<=://)[^@]*:[^@]*@")
_QUERY: Final = re.compile(r"\?.*", re.DOTALL)


def shown_option(name: str, value: str) -> str:
    """Returns an option's value when the option says where rows go, else `REDACTED`.

    Credentials inside a URI (`s3a://key:secret@bucket`, `…?sig=…`) are left out as well.
    """
    if name.casefold() not in _PLACES:
        return REDACTED
    return _QUERY.sub("", _CREDENTIALS.sub("", value))
