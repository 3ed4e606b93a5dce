"""Where in a store a Delta table can be."""

from __future__ import annotations

import re
from typing import Final

_NOT_IN_PATHS: Final = re.compile(r"[%?#]")


def unsupported_key(key: str, *, bucket: str = "bucket") -> str | None:
    """Returns why no table can be at a key, as "it …"; None where one can. `bucket` is what the store calls it."""
    if not key.strip("/"):
        return f"is a whole {bucket}, and beside the table lie its quarantine and its late rows"
    if found := _NOT_IN_PATHS.search(key):
        return f"has a '{found[0]}', and is another place for delta-rs than for Spark"
    return None
