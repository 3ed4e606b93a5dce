"""`dbutils.secrets`: the secrets of the configuration, which holds only where they are."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.config import SecretReference
from penstock.declare.dbutils.refusing import Refusing
from penstock.errors import DefinitionError, did_you_mean


class Secrets(Refusing):
    """Answers `dbutils.secrets.get(scope, key)` with the entry `scope/key` of `secrets`, else with `key`."""

    name = "dbutils.secrets"
    alternative = "Name the secret: dbutils.secrets.get(scope, key)"

    def __init__(self, secrets: Mapping[str, SecretReference]) -> None:
        self._secrets = secrets

    def get(self, scope: str, key: str) -> str:
        """Returns the value of a secret, read again at each call.

        Raises:
            DefinitionError: SECRET_NOT_DECLARED.
            ConfigError: SECRET_NOT_FOUND.
        """
        full = f"{scope}/{key}"
        found = self._secrets.get(full) or self._secrets.get(key)
        if found is None:
            raise DefinitionError("SECRET_NOT_DECLARED", secret=full, suggestion=did_you_mean(full, self._secrets))
        return found.resolve()

    def getBytes(self, scope: str, key: str) -> bytes:
        """Returns the value of a secret in UTF-8; raises as `get`."""
        return self.get(scope, key).encode()
