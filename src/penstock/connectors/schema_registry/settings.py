"""The settings of the helpers for messages of a registry, under the names that Databricks' `from_avro` has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from penstock.connectors.schema_registry.client import SchemaRegistry
from penstock.errors import DefinitionError, did_you_mean
from penstock.spark.sources.option import Secret, secret_options

_PREFIX: Final = "confluent.schema.registry."
_LOGIN: Final = f"{_PREFIX}basic.auth.user.info"
_LOGIN_SOURCE: Final = f"{_PREFIX}basic.auth.credentials.source"
_CA_FILE: Final = f"{_PREFIX}ssl.truststore.location"
_CA_TYPE: Final = f"{_PREFIX}ssl.truststore.type"
_MODE: Final = "mode"
_KNOWN: Final = (_LOGIN, _LOGIN_SOURCE, _CA_FILE, _CA_TYPE, _MODE)
_MODES: Final = ("PERMISSIVE", "FAILFAST")
_PASSWORD: Final = re.compile(r"(?s)([^:]*:)?\$\{secret:[^}]*\}")


def registry_of(function: str, address: str, options: Mapping[str, str], secret: Secret) -> SchemaRegistry:
    """Returns the registry that is meant; `function` is the helper that was called. Nothing is requested yet.

    Raises:
        DefinitionError: INVALID_PARAMETER, SECRET_NOT_DECLARED.
        ConfigError: SECRET_NOT_FOUND.
    """
    for name in options:
        if name not in _KNOWN:
            expected = did_you_mean(name, _KNOWN, also=f"Known are {', '.join(_KNOWN)}.")
            raise _invalid(function, "options", expected, f"'{name}'")
    parts = urlsplit(address)
    if parts.scheme.casefold() not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        got = "a text without such a form" if "@" in address else f"'{address}'"
        raise _invalid(function, "schema_registry_address", "http://HOST:PORT or https://HOST:PORT", got)
    login = options.get(_LOGIN)
    if login is not None and not _PASSWORD.fullmatch(login):
        raise _invalid(function, _LOGIN, "'USER:${secret:NAME}' or '${secret:NAME}'", "a password in plain text")
    if options.get(_LOGIN_SOURCE, "USER_INFO") != "USER_INFO":
        raise _invalid(function, _LOGIN_SOURCE, "'USER_INFO'", f"'{options[_LOGIN_SOURCE]}'")
    if (kind := options.get(_CA_TYPE, "PEM")).upper() != "PEM":
        raise _invalid(function, _CA_TYPE, "'PEM'", f"'{kind}'")
    ca_file = options.get(_CA_FILE)
    if ca_file is not None and not Path(ca_file).is_file():
        raise _invalid(function, _CA_FILE, "a file of certificates", f"'{ca_file}', where there is none")
    filled = {} if login is None else secret_options({_LOGIN: login}, secret)
    return SchemaRegistry(address, filled.get(_LOGIN), ca_file)


def fails_fast(function: str, options: Mapping[str, str]) -> bool:
    """Returns whether a message that cannot be decoded fails the flow.

    Raises:
        DefinitionError: INVALID_PARAMETER.
    """
    mode = options.get(_MODE, _MODES[0])
    if mode.upper() not in _MODES:
        raise _invalid(function, _MODE, " or ".join(_MODES), f"'{mode}'")
    return mode.upper() == _MODES[1]


def _invalid(function: str, parameter: str, expected: str, got: str) -> DefinitionError:
    return DefinitionError(
        "INVALID_PARAMETER", function=f"sources.{function}", parameter=parameter, expected=expected, got=got
    )
