"""What the exceptions of Hadoop's clients of Azure and Google Cloud mean, which tell little by their classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from penstock.errors import ConfigError, ExternalError, PenstockError
from penstock.storage.tls_refusals import is_tls_refusal

_CLIENTS: Final = ("org.apache.hadoop.fs.azurebfs.", "org.apache.hadoop.fs.gs.", "com.google.cloud.hadoop.")
_NO_BUCKET: Final = re.compile(r"specified (?:filesystem|container|bucket) does not exist", re.IGNORECASE)
_NO_CREDENTIALS: Final = re.compile(
    r"value detected for fs\.azure\.account\.key|cannot find the metadata server|default credentials were not found"
)
_DENIED: Final = re.compile(
    r"(?:response|status) code: 40[013]\b|\b40[13],|\b40[013] (?:Bad Request|Unauthorized|Forbidden)", re.IGNORECASE
)


def azure_or_google_failure(causes: Sequence[tuple[str, str]]) -> PenstockError | None:
    """Returns what a failure means in which a client of one of the two has a part; None for any other.

    `causes` are class name and message of each exception, outermost first.
    """
    texts = [text for name, text in causes if name.startswith(_CLIENTS)]
    if not texts:
        return None
    told = " ".join(text for _, text in causes)
    detail = texts[-1].strip().splitlines()[0] if texts[-1].strip() else "no message"
    if _NO_BUCKET.search(told):
        return ConfigError("OBJECT_STORE_BUCKET_NOT_FOUND", detail=detail)
    if _NO_CREDENTIALS.search(told):
        return ConfigError("OBJECT_STORE_CREDENTIALS_MISSING", detail=detail)
    if _DENIED.search(told):
        return ConfigError("OBJECT_STORE_ACCESS_DENIED", detail=detail)
    if is_tls_refusal(told):
        return ConfigError("OBJECT_STORE_TLS_FAILED", detail=detail)
    return ExternalError("STORAGE_FAILED", detail=detail)
