"""What may be shown of options and statements of users, which could hold a password."""

from __future__ import annotations

import re
from typing import Final

from penstock.errors.secret_names import REDACTED_KEYS

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
# `password => 'x'`, `'password', 'x'`, `password 'x'`: too many rather than too few.
_GIVEN: Final = re.compile(
    rf"((?:{REDACTED_KEYS.removeprefix('(?i)')})[\w.-]*['\"`]?\s*(?:=>|=|,|:)?\s*)('(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\")",
    re.IGNORECASE | re.DOTALL,
)
_CREDENTIALS_IN_TEXT: Final = re.compile(
    r"(?<=://)[^\s'\"`/@]*:[^\s'\"`@]*@|(?<=[?&])(?:sig|token|key)=[^\s'\"`&]+", re.IGNORECASE
)


def shown_option(name: str, value: str) -> str:
    """Returns an option's value when the option says where rows go, else `REDACTED`.

    Credentials inside a URI (`s3a://key:secret@bucket`, `…?sig=…`) are left out as well.
    """
    if name.casefold() not in _PLACES:
        return REDACTED
    return _QUERY.sub("", _CREDENTIALS.sub("", value))


def shown_statement(text: str) -> str:
    """Returns a statement without the values of options that may be secrets, and without credentials in URIs.

    Other literals stay: about whom somebody asked is what an audit is for.
    """
    return _CREDENTIALS_IN_TEXT.sub("", _GIVEN.sub(rf"\1'{REDACTED}'", text))
