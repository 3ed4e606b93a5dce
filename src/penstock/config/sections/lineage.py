"""What a pipeline file says about lineage: where OpenLineage events go."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.config.references import reference, web_address
from penstock.config.shapes import Key, Section, Text
from penstock.config.values.secret import SecretReference


@dataclass(frozen=True, slots=True)
class LineageSettings:
    """Where OpenLineage events go: into a `file`, one a line, to the `endpoint` of a server at `url`, or both."""

    namespace: str = "penstock"
    file: Path | None = None
    url: str | SecretReference | None = None
    endpoint: str = "api/v1/lineage"
    token: SecretReference | None = None

    @property
    def declared(self) -> bool:
        """Whether anybody asks for lineage."""
        return self.file is not None or self.url is not None


LINEAGE = Section(
    (
        Key("namespace", Text(), "The namespace of the jobs.", "shop-production", "penstock"),
        Key("file", Text(), "A file to which events are appended, one a line.", "lineage.jsonl"),
        Key("url", Text(web_address), "A server of OpenLineage, such as Marquez.", "https://lineage.example.com"),
        Key("endpoint", Text(), "Where on the server.", "api/v2/lineage", "api/v1/lineage"),
        Key("token", Text(reference), "The server's API key.", '"${env:LINEAGE_TOKEN}"'),
    )
)


def lineage_settings(values: Mapping[str, Any], folder: Path) -> LineageSettings:
    """Returns the settings of the values of a file's section `lineage`; the file is relative to `folder`."""
    given = dict(values)
    if "file" in given:
        given["file"] = folder / os.path.expanduser(given["file"])
    return LineageSettings(**given)
