"""Secrets in the options of sources and sinks: an author writes where the value is, `${secret:NAME}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from penstock.errors import DefinitionError

Secret = Callable[[str], str]
"""Returns the value of a secret by its name in `secrets`; raises SECRET_NOT_DECLARED and SECRET_NOT_FOUND."""

_REFERENCE: Final = re.compile(r"\$\{secret:([^}]*)\}")
_QUOTED: Final = "sasl.jaas.config"  # in which a value is between double quotes


def no_secret(name: str) -> str:
    """The `Secret` of who has none.

    Raises:
        DefinitionError: SECRET_NOT_DECLARED.
    """
    raise DefinitionError("SECRET_NOT_DECLARED", secret=name, suggestion="")


def secret_options(options: Mapping[str, str], secret: Secret) -> dict[str, str]:
    """Returns those options that hold references, with the values in their places: never show or log the result.

    Raises:
        DefinitionError: SECRET_NOT_DECLARED.
        ConfigError: SECRET_NOT_FOUND.
    """
    return {key: _filled(key, text, secret) for key, text in options.items() if _REFERENCE.search(text)}


def _filled(key: str, text: str, secret: Secret) -> str:
    def value(found: re.Match[str]) -> str:
        resolved = secret(found[1])
        if key.casefold().endswith(_QUOTED):
            return resolved.replace("\\", "\\\\").replace('"', '\\"')
        return resolved

    return _REFERENCE.sub(value, text)
