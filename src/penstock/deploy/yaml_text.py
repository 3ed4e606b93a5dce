"""YAML that people read, too."""

from __future__ import annotations

import io
from typing import Any

from ruamel.yaml import YAML


def yaml_text(*documents: dict[str, Any]) -> str:
    """Returns the documents as one text, without anchors and aliases."""
    writer = YAML()
    writer.explicit_start = len(documents) > 1
    writer.width = 120
    writer.representer.ignore_aliases = lambda *_: True
    text = io.StringIO()
    writer.dump_all(documents, text)
    return text.getvalue()
