"""The settings of ABFS, Spark's client of Azure, are those of Penstock's own clients."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import pytest
from azure.identity import ClientSecretCredential, ManagedIdentityCredential

from penstock.errors import ConfigError
from penstock.storage.delta.table import storage_options
from penstock.storage.filesystem import can_open
from penstock.storage.stores.azure import client
from penstock.storage.stores.azure.client import container_of
from penstock.storage.stores.azure.settings import (
    AccountKey,
    AccountSettings,
    AzurePlace,
    EntraLogin,
    unsupported_for_table,
)
from penstock.storage.stores.settings import use_store_settings
from penstock.storage.stores.stores import store_of

DFS = "shop.dfs.core.windows.net"
PLACE = f"abfss://lake@{DFS}/tables/orders"
PROVIDER = "org.apache.hadoop.fs.azurebfs.oauth2."
APPLICATION = {
    "account.auth.type": "OAuth",
    "account.oauth.provider.type": f"{PROVIDER}ClientCredsTokenProvider",
    "account.oauth2.client.id": "reader",
    "account.oauth2.client.secret": "S",
    "account.oauth2.client.endpoint": "https://login.microsoftonline.com/the-tenant/oauth2/token",
}
IDENTITY = {"account.auth.type": "OAuth", "account.oauth.provider.type": f"{PROVIDER}MsiTokenProvider"}
OF_THE_POD = {
    **IDENTITY,
    "account.oauth.provider.type": f"{PROVIDER}WorkloadIdentityTokenProvider",
    "account.oauth2.client.id": "pod",
    "account.oauth2.msi.tenant": "the-tenant",
    "account.oauth2.token.file": "/var/run/token",
}


@pytest.fixture(autouse=True)
def _no_settings_left() -> Iterator[None]:
    yield
    use_store_settings(dict)
    client._service.cache_clear()


def use(settings: Mapping[str, str]) -> AccountSettings:
    use_store_settings(lambda: {f"spark.hadoop.fs.azure.{key}": value for key, value in settings.items()})
    return AccountSettings(AzurePlace.of(PLACE))


@pytest.mark.parametrize(
    ("settings", "login"),
    [
        ({"account.key": "K"}, AccountKey("K")),
        ({"account.key": "K", f"account.key.{DFS}": "OWN", "account.key.other.dfs.core.windows.net": "X"}, "OWN"),
        ({f"account.key.{DFS}": "OWN", f"account.key.lake.{DFS}": "OF THE CONTAINER"}, "OF THE CONTAINER"),
        ({"account.auth.type": "SAS", f"sas.fixed.token.{DFS}": "?sv=1&sig=2"}, AccountKey("sv=1&sig=2", is_sas=True)),
        (APPLICATION, EntraLogin("reader", "the-tenant", "https://login.microsoftonline.com", "S")),
        (IDENTITY, EntraLogin()),
        ({**IDENTITY, "account.oauth2.client.id": "one"}, EntraLogin("one")),
        (OF_THE_POD, EntraLogin("pod", "the-tenant", token_file="/var/run/token")),
    ],
)
def test_who_asks(settings: Mapping[str, str], login: AccountKey | EntraLogin | str) -> None:
    assert use(settings).login() == (AccountKey(login) if isinstance(login, str) else login)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({}, "fs.azure.account.key"),
        ({"account.auth.type": "SAS"}, "fs.azure.sas.fixed.token"),
        ({"account.auth.type": "Custom"}, "custom"),
        ({**APPLICATION, "account.oauth2.client.secret": ""}, "oauth2.client.secret"),
        ({**IDENTITY, "account.oauth.provider.type": f"{PROVIDER}RefreshTokenBasedTokenProvider"}, "RefreshToken"),
    ],
)
def test_missing_credentials_are_named(settings: Mapping[str, str], named: str) -> None:
    use(settings)
    for ask in (storage_options, container_of):
        with pytest.raises(ConfigError) as caught:
            ask(PLACE)
        assert caught.value.condition == "OBJECT_STORE_CREDENTIALS_MISSING"
        assert named in str(caught.value.facts["detail"])


@pytest.mark.parametrize(
    ("uri", "settings", "endpoint"),
    [
        (PLACE, {}, "https://shop.blob.core.windows.net"),
        ("abfs://lake@shop.blob.core.chinacloudapi.cn/x", {}, "https://shop.blob.core.chinacloudapi.cn"),
        (PLACE, {"always.use.https": "false"}, "https://shop.blob.core.windows.net"),
        (PLACE.replace("abfss", "abfs"), {"always.use.https": "false"}, "http://shop.blob.core.windows.net"),
        (PLACE, {"abfs.endpoint": "127.0.0.1:10000"}, "https://127.0.0.1:10000/shop"),
    ],
)
def test_where_the_blobs_are(uri: str, settings: Mapping[str, str], endpoint: str) -> None:
    use(settings)
    assert AccountSettings(AzurePlace.of(uri)).endpoint() == endpoint


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"account.key": "K"}, {"AZURE_STORAGE_ACCOUNT_KEY": "K"}),
        ({"account.auth.type": "SAS", "sas.fixed.token": "sv=1"}, {"AZURE_STORAGE_SAS_KEY": "sv=1"}),
        (
            APPLICATION,
            {
                "AZURE_STORAGE_CLIENT_ID": "reader",
                "AZURE_STORAGE_TENANT_ID": "the-tenant",
                "AZURE_STORAGE_AUTHORITY_HOST": "https://login.microsoftonline.com",
                "AZURE_STORAGE_CLIENT_SECRET": "S",
            },
        ),
        (IDENTITY, {}),
        (
            OF_THE_POD,
            {
                "AZURE_STORAGE_CLIENT_ID": "pod",
                "AZURE_STORAGE_TENANT_ID": "the-tenant",
                "AZURE_FEDERATED_TOKEN_FILE": "/var/run/token",
            },
        ),
    ],
)
def test_the_settings_are_those_of_delta_rs(settings: Mapping[str, str], options: Mapping[str, str]) -> None:
    use(settings)
    assert storage_options(PLACE) == {
        "AZURE_STORAGE_ACCOUNT_NAME": "shop",
        "AZURE_CONTAINER_NAME": "lake",
        "AZURE_STORAGE_ENDPOINT": "https://shop.blob.core.windows.net",
        "ALLOW_HTTP": "false",
        **options,
    }


@pytest.mark.parametrize(
    ("settings", "kind"), [(APPLICATION, ClientSecretCredential), (IDENTITY, ManagedIdentityCredential)]
)
def test_entra_logs_in_for_penstock_too(settings: Mapping[str, str], kind: type) -> None:
    use(settings)
    container = container_of(PLACE)
    assert container.url == "https://shop.blob.core.windows.net/lake"
    assert isinstance(container.credential, kind)


@pytest.mark.parametrize(
    ("missing", "settings", "extra"),
    [("azure.storage.blob", {"account.key": "K"}, "azure"), ("azure.identity", IDENTITY, "azure-identity")],
)
def test_an_extra_that_is_missing_is_named(
    missing: str, settings: Mapping[str, str], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigError) as caught:
        container_of(PLACE)
    assert (caught.value.condition, caught.value.facts["extra"]) == ("STORAGE_EXTRA_MISSING", extra)


def test_without_the_extra_spark_alone_reads_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_open(PLACE)
    monkeypatch.setattr(client, "find_spec", lambda _name: None)
    assert not can_open(PLACE)


@pytest.mark.parametrize(
    "uri", [f"abfss://lake@{DFS}", f"abfss://{DFS}/a", f"abfss://lake@{DFS}/a%20b", f"abfss://lake@{DFS}/a?b"]
)
def test_not_every_place_can_have_a_table(uri: str) -> None:
    assert unsupported_for_table(uri) is not None
    assert unsupported_for_table(f"abfss://lake@{DFS}/a b/ü=1") is None


def test_a_place_without_a_container_is_refused() -> None:
    use({"account.key": "K"})
    with pytest.raises(ConfigError) as caught:
        container_of(f"abfss://{DFS}/orders")
    assert caught.value.condition == "OBJECT_STORE_BUCKET_NOT_FOUND"


def test_each_store_by_its_scheme() -> None:
    store = store_of(PLACE.upper())
    assert store is not None
    assert store.table_uri("ABFSS://Lake@x/a/") == "abfss://Lake@x/a"
    assert store_of("wasbs://lake@x/orders") is None
    assert store_of("/abfss/orders") is None


@pytest.mark.parametrize(
    "name",
    [f"encryption.encoded.client-provided-key.{DFS}", f"encryption.context.provider.type.{DFS}"],
)
def test_an_encryption_whose_key_only_spark_has_is_refused(name: str) -> None:
    use_store_settings(lambda: {"spark.hadoop.fs.azure.account.key": "K", f"spark.hadoop.fs.azure.{name}": "a key"})
    for reads in (storage_options, container_of):
        with pytest.raises(ConfigError) as caught:
            reads(PLACE)
        assert caught.value.condition == "OBJECT_STORE_ENCRYPTION_UNSUPPORTED"
        assert caught.value.facts["setting"] == f"fs.azure.{name.removesuffix(f'.{DFS}')}"
        assert "a key" not in str(caught.value)
