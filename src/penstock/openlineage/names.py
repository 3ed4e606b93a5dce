"""What datasets are called in OpenLineage: by where they are, so that other systems mean the same by them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_LOCAL = re.compile(r"(?:file:)?/{1,3}(.*)")


class DatasetName(NamedTuple):
    """Namespace and name, as the specification's page on naming says."""

    namespace: str
    name: str


def of_location(uri: str) -> DatasetName:
    """Returns the name of what is stored at a path or a URI; credentials and queries in it are left out."""
    local = _LOCAL.fullmatch(uri)
    if local is not None:
        return DatasetName("file", f"/{local.group(1).rstrip('/')}")
    parts = urlsplit(uri)
    scheme = "s3" if parts.scheme in {"s3a", "s3n"} else parts.scheme
    return DatasetName(f"{scheme}://{parts.netloc.rpartition('@')[2]}", parts.path.strip("/") or "/")


def of_topic(servers: str, topic: str) -> DatasetName:
    """Returns the name of a topic of Kafka; the first server stands for all."""
    return DatasetName(f"kafka://{servers.split(',', maxsplit=1)[0].strip()}", topic)


def of_sink(definition: Mapping[str, Any], namespace: str) -> DatasetName:
    """Returns the name of a sink by its `sink_definition`; without a place it has one in `namespace` only."""
    options = {str(key).casefold(): str(value) for key, value in (definition.get("options") or {}).items()}
    if "kafka.bootstrap.servers" in options and "topic" in options:
        return of_topic(options["kafka.bootstrap.servers"], options["topic"])
    if "path" in options:
        return of_location(options["path"])
    return DatasetName(namespace, str(definition.get("dataset")))


def of_source(source: Mapping[str, Any], namespace: str) -> DatasetName:
    """Returns the name of a source outside of the pipeline by its entry in a `flow_definition`."""
    kind, description = str(source.get("format")), str(source.get("description"))
    if "://" in description or description.startswith("/"):
        return of_location(description)
    return DatasetName(namespace, f"{kind} {description}".strip())
