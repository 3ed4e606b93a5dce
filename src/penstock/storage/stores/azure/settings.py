"""Azure's object stores by the settings of Spark's client, ABFS: where a place is, and who asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from penstock.errors import ConfigError
from penstock.storage.stores.settings import AZURE_SETTING, store_settings
from penstock.storage.stores.table_places import unsupported_key

AZURE_SCHEMES: Final = frozenset({"abfss", "abfs"})

_KEYS_OF_CLIENT: Final = ("encryption.encoded.client-provided-key", "encryption.context.provider.type")
"""With these Spark's client encrypts with a key of its own, without which nothing can be read."""


@dataclass(frozen=True, slots=True)
class AzurePlace:
    """A place in a container of an account; `host` is the account's, as the URI has it."""

    scheme: str
    container: str
    host: str
    key: str

    @staticmethod
    def of(uri: str) -> AzurePlace:
        """Returns the place of an `abfss://CONTAINER@ACCOUNT.blob.core.windows.net/…` URI.

        Raises:
            ConfigError: OBJECT_STORE_BUCKET_NOT_FOUND, it names no container.
        """
        scheme, _, rest = uri.partition("://")
        authority, _, key = rest.partition("/")
        container, found, host = authority.rpartition("@")
        if not (found and container and host):
            raise ConfigError(
                "OBJECT_STORE_BUCKET_NOT_FOUND",
                detail=f"{uri} names no container, as abfss://CONTAINER@ACCOUNT.blob.core.windows.net/… does",
            )
        return AzurePlace(scheme.lower(), container, host.lower(), key.strip("/"))

    @property
    def account(self) -> str:
        """The account's name."""
        return self.host.partition(".")[0]


def unsupported_for_table(uri: str) -> str | None:
    """Returns why a Delta table cannot be at a place in Azure, as "it …"; None where it can."""
    authority, _, key = uri.partition("://")[2].partition("/")
    if "@" not in authority:
        return "names no container, as abfss://CONTAINER@ACCOUNT.blob.core.windows.net/… does"
    return unsupported_key(key, bucket="container")


@dataclass(frozen=True, slots=True)
class AccountKey:
    """The key of an account, or one of its shared access signatures (SAS)."""

    value: str
    is_sas: bool = False


@dataclass(frozen=True, slots=True)
class EntraLogin:
    """A login by Microsoft Entra: of an application with its secret or its token's file, or a managed identity."""

    client: str = ""
    tenant: str = ""
    authority: str = ""
    secret: str = ""
    token_file: str = ""

    @property
    def managed(self) -> bool:
        """Whether the machine itself has the identity."""
        return not (self.secret or self.token_file)


class AccountSettings:
    """What the settings of ABFS say of a place: those of the container before those of the account, and of all."""

    def __init__(self, place: AzurePlace) -> None:
        self._place = place
        self._settings = store_settings()

    def _get(self, name: str) -> str:
        place = self._place
        keys = (f"{name}.{place.container}.{place.host}", f"{name}.{place.host}", name)
        found = (self._settings.get(f"{AZURE_SETTING}{key}", "").strip() for key in keys)
        return next(filter(None, found), "")

    def endpoint(self) -> str:
        """Returns the URL of the account's blobs; `fs.azure.abfs.endpoint` is that of an emulator."""
        place = self._place
        plain = place.scheme == "abfs" and self._get("always.use.https").casefold() == "false"
        scheme = "http" if plain else "https"
        if ":" in (emulator := self._get("abfs.endpoint")):
            return f"{scheme}://{emulator}/{place.account}"
        return f"{scheme}://{place.host.replace('.dfs.', '.blob.', 1)}"

    def login(self) -> AccountKey | EntraLogin:
        """Returns who asks.

        Raises:
            ConfigError: OBJECT_STORE_CREDENTIALS_MISSING, OBJECT_STORE_ENCRYPTION_UNSUPPORTED.
        """
        for name in _KEYS_OF_CLIENT:
            if self._get(name):
                place = f"{self._place.scheme}://{self._place.container}@{self._place.host}"
                raise ConfigError("OBJECT_STORE_ENCRYPTION_UNSUPPORTED", uri=place, setting=f"fs.azure.{name}")
        kind = self._get("account.auth.type").casefold() or "sharedkey"
        if kind == "sharedkey":
            return AccountKey(self._required("account.key"))
        if kind == "sas":
            return AccountKey(self._required("sas.fixed.token").removeprefix("?"), is_sas=True)
        if kind == "oauth":
            return self._entra()
        raise self._missing(f"only Spark's client knows the login {kind!r} of 'fs.azure.account.auth.type'")

    def _entra(self) -> EntraLogin:
        provider = self._required("account.oauth.provider.type").rpartition(".")[2]
        client = self._get("account.oauth2.client.id")
        if provider == "MsiTokenProvider":
            return EntraLogin(client)
        if provider == "ClientCredsTokenProvider":
            url = urlsplit(self._required("account.oauth2.client.endpoint"))
            tenant, secret = url.path.strip("/").partition("/")[0], self._required("account.oauth2.client.secret")
            return EntraLogin(client, tenant, f"{url.scheme}://{url.netloc}", secret)
        if provider == "WorkloadIdentityTokenProvider":
            authority = self._get("account.oauth2.msi.authority")
            token_file = self._required("account.oauth2.token.file")
            return EntraLogin(client, self._required("account.oauth2.msi.tenant"), authority, token_file=token_file)
        raise self._missing(f"only Spark's client knows {provider}")

    def _required(self, name: str) -> str:
        if value := self._get(name):
            return value
        raise self._missing(f"'spark.hadoop.fs.azure.{name}.{self._place.host}' is not set")

    def _missing(self, reason: str) -> ConfigError:
        return ConfigError("OBJECT_STORE_CREDENTIALS_MISSING", detail=f"{self._place.host}: {reason}")


def azure_delta_options(uri: str) -> dict[str, str]:
    """Returns the storage options with which delta-rs reaches a table; its commits are PUTs with `If-None-Match`.

    Raises:
        ConfigError: OBJECT_STORE_BUCKET_NOT_FOUND, OBJECT_STORE_CREDENTIALS_MISSING, SECRET_NOT_FOUND.
    """
    place = AzurePlace.of(uri)
    settings = AccountSettings(place)
    login, endpoint = settings.login(), settings.endpoint()
    options = {"AZURE_STORAGE_ACCOUNT_NAME": place.account, "AZURE_CONTAINER_NAME": place.container}
    options |= {"AZURE_STORAGE_ENDPOINT": endpoint, "ALLOW_HTTP": str(endpoint.startswith("http:")).lower()}
    if isinstance(login, AccountKey):
        return {**options, "AZURE_STORAGE_SAS_KEY" if login.is_sas else "AZURE_STORAGE_ACCOUNT_KEY": login.value}
    chosen = {
        "AZURE_STORAGE_CLIENT_ID": login.client,
        "AZURE_STORAGE_TENANT_ID": login.tenant,
        "AZURE_STORAGE_AUTHORITY_HOST": login.authority,
        "AZURE_STORAGE_CLIENT_SECRET": login.secret,
        "AZURE_FEDERATED_TOKEN_FILE": login.token_file,
    }
    return options | {name: value for name, value in chosen.items() if value}
