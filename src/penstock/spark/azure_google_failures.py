"""What the exceptions of Hadoop's clients of Azure and Google Cloud mean, which tell little by their classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from penstock.errors import ExternalError, PenstockError
from penstock.storage.object_store_errors import store_refusal

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
    refused = store_refusal(told, detail, no_bucket=_NO_BUCKET, no_credentials=_NO_CREDENTIALS, denied=_DENIED)
    return refused or ExternalError("STORAGE_FAILED", detail=detail)
