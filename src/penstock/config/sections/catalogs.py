"""What a pipeline file says about catalogs: where the tables are registered by name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from penstock.config.reader import Placed
from penstock.config.references import reference, values_of
from penstock.config.shapes import Key, MapOf, Section, Text
from penstock.config.values.authority import is_loopback
from penstock.config.values.secret import SecretReference
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
        return _filled(self.schema, schema, catalog or "spark_catalog")


@dataclass(frozen=True, slots=True)
class UnityCatalogServer:
    """A server of Unity Catalog in which tables are registered, at `uri`, with the token of a user as bearer token.

    `catalog` and `schema` name those of a table; `{schema}` and `{catalog}` in them stand for those of the dataset.
    """

    name: str
    uri: str
    token: SecretReference | None = None
    catalog: str = "{catalog}"
    schema: str = "{schema}"
    ca_file: Path | None = None

    def place_of(self, schema: str, catalog: str | None) -> tuple[str, str]:
        """Returns catalog and schema of the datasets of a schema, in lower case, as Unity Catalog has them."""
        own = catalog or "main"
        return _filled(self.catalog, schema, own), _filled(self.schema, schema, own)


CatalogSettings = HiveMetastore | UnityCatalogServer


def _filled(template: str, schema: str, catalog: str) -> str:
    return template.replace("{schema}", schema).replace("{catalog}", catalog).lower()


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


def _type(key: str, text: str) -> str:
    if text not in {"hive", "unity"}:
        raise ConfigError("CATALOG_TYPE_UNSUPPORTED", key=key, value=text)
    return text


def _template(key: str, text: str) -> str:
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


def _web_address(key: str, text: str) -> str:
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - raises for one that is no number
    except ValueError:
        parts = urlsplit("")
    if parts.username is not None or parts.password is not None:
        raise ConfigError("CONFIG_SECRET_LITERAL", secret=key)
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))):
        raise ConfigError(
            "CONFIG_INVALID_VALUE",
            key=key,
            value=text,
            expected="https://HOST:PORT, or http:// on this machine: others could read the token",
            example="https://unity.example.com",
        )
    return text.rstrip("/")


CATALOGS: Final = MapOf(
    Section(
        (
            Key(
                "type",
                Text(_type, "hive|unity"),
                "What it is.",
                "unity",
                required=True,
            ),
            Key("uri", Text(), "Its address.", "thrift://metastore:9083", required=True),
            Key(
                "catalog",
                Text(_template),
                "Unity Catalog: the catalog of a table; {schema} and {catalog} are those of the dataset.",
                "shop",
                '"{catalog}"',
            ),
            Key(
                "schema",
                Text(_template),
                "The schema (Hive: database) of a table; {schema} and {catalog} are those of the dataset.",
                '"{catalog}_{schema}"',
                '"{schema}"',
            ),
            Key("token", Text(reference), "Unity Catalog: the token of the user.", '"${env:UNITY_TOKEN}"'),
            Key(
                "ca_file",
                Text(),
                "Unity Catalog: a PEM file of certificates to trust instead of the system's.",
                "ca.pem",
            ),
        )
    )
)
_OF_UNITY: Final = ("catalog", "token", "ca_file")


def catalog_settings(
    catalogs: Placed, references: Mapping[str, SecretReference], folder: Path
) -> tuple[CatalogSettings, ...]:
    """Returns the settings of a file's section `catalogs`; files are relative to `folder`."""
    values: Mapping[str, Mapping[str, Any]] = values_of("catalogs", catalogs, references)
    return tuple(
        _settings(name, of, catalogs.value[name], folder)
        for name, of in values.items()
        if "uri" in of and "type" in of  # what is missing has been reported
    )


def _settings(name: str, of: Mapping[str, Any], placed: Placed, folder: Path) -> CatalogSettings:
    key = f"catalogs.{name}"
    places = placed.value
    try:
        if of["type"] == "unity":
            uri = _web_address(f"{key}.uri", of["uri"])
            given = {each: of[each] for each in ("catalog", "schema", "token") if each in of}
            ca_file = folder / os.path.expanduser(of["ca_file"]) if "ca_file" in of else None
            return UnityCatalogServer(name, uri, **given, ca_file=ca_file)
        servers = _servers(f"{key}.uri", of["uri"])
    except ConfigError as error:
        error.location = places["uri"].location
        raise
    for each in _OF_UNITY:
        if each in of:
            raise ConfigError(
                "CONFIG_INVALID_VALUE",
                location=places[each].location,
                key=f"{key}.{each}",
                value="with type: hive",
                expected="this key with type: unity only",
                example="type: unity",
            )
    return HiveMetastore(name, servers, of.get("schema", "{schema}"))
