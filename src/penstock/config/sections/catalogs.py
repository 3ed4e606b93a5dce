"""What a pipeline file says about catalogs: where the tables are registered by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from penstock.config.shapes import Key, MapOf, Section, Text, matching
from penstock.errors import ConfigError

_PORT: Final = 9083
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class HiveMetastore:
    """A Hive Metastore in which tables are registered.

    `servers` are host and port of its servers, tried in their order. `schema` names the database of a table;
    `{schema}` and `{catalog}` in it stand for those of the dataset.
    """

    name: str
    servers: tuple[tuple[str, int], ...]
    schema: str = "{schema}"

    @property
    def uri(self) -> str:
        """The address as the pipeline file has it."""
        return ",".join(f"thrift://{host}:{port}" for host, port in self.servers)

    def schema_of(self, schema: str, catalog: str | None) -> str:
        """Returns the database of the datasets of a schema, in lower case, as Hive has it."""
        return self.schema.replace("{schema}", schema).replace("{catalog}", catalog or "spark_catalog").lower()


def _servers(key: str, text: str) -> tuple[tuple[str, int], ...]:
    found = []
    for uri in text.split(","):
        try:
            parts = urlsplit(uri.strip())
            port = parts.port or _PORT
        except ValueError:
            parts, port = urlsplit(""), 0
        if parts.scheme != "thrift" or not parts.hostname or parts.path.strip("/"):
            raise ConfigError(
                "CONFIG_INVALID_VALUE",
                key=key,
                value=text,
                expected="thrift://HOST:PORT, several separated by commas",
                example=f"thrift://metastore:{_PORT}",
            )
        found.append((parts.hostname, port))
    return tuple(found)


def _schema(key: str, text: str) -> str:
    unknown = [name for name in _PLACEHOLDER.findall(text) if name not in {"schema", "catalog"}]
    if unknown or not re.fullmatch(r"\w+", _PLACEHOLDER.sub("x", text)):
        raise ConfigError(
            "CONFIG_INVALID_VALUE",
            key=key,
            value=text,
            expected="letters, digits, _, {schema} and {catalog}",
            example='"{catalog}_{schema}"',
        )
    return text


CATALOGS: Final = MapOf(
    Section(
        (
            Key("type", Text(matching("hive", "hive", "hive"), "hive"), "What it is.", "hive", required=True),
            Key("uri", Text(_servers), "Its address.", "thrift://metastore:9083", required=True),
            Key(
                "schema",
                Text(_schema),
                "The database of a table; {schema} and {catalog} are those of the dataset.",
                '"{catalog}_{schema}"',
                '"{schema}"',
            ),
        )
    )
)


def catalog_settings(values: Mapping[str, Mapping[str, Any]]) -> tuple[HiveMetastore, ...]:
    """Returns the settings of the values of a file's section `catalogs`."""
    return tuple(
        HiveMetastore(name, of["uri"], of.get("schema", "{schema}")) for name, of in values.items() if "uri" in of
    )
