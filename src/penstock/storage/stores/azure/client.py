"""Azure's own client for Python, as the settings of ABFS have it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from penstock.errors import ConfigError
from penstock.storage.stores.azure.settings import AccountSettings, AzurePlace, EntraLogin
from penstock.storage.stores.settings import client_key

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential
    from azure.core.exceptions import AzureError
    from azure.storage.blob import BlobServiceClient, ContainerClient

_CONNECT_SECONDS: Final = 5
_READ_SECONDS: Final = 20
_RETRIES: Final = 2
_LOGIN_HOST: Final = "https://login.microsoftonline.com"


def is_installed() -> bool:
    """Whether the extra `azure` is there."""
    return find_spec("azure") is not None and find_spec("azure.storage") is not None


def container_of(uri: str) -> ContainerClient:
    """Returns the client of the container in which a URI is; makes no request.

    Raises:
        ConfigError: STORAGE_EXTRA_MISSING, OBJECT_STORE_BUCKET_NOT_FOUND, OBJECT_STORE_CREDENTIALS_MISSING,
            SECRET_NOT_FOUND.
    """
    place = AzurePlace.of(uri)
    with _needing("azure", uri):
        service = _service(place.scheme, place.container, place.host, client_key())
        return service.get_container_client(place.container)


def reason(error: AzureError) -> str:
    """Returns what the store says: the code of its answer, or of what the client could not do, and its first line."""
    code = getattr(error, "error_code", None)
    code = getattr(code, "value", code) or type(error).__name__
    status = getattr(error, "status_code", None)
    lines = str(error.message).strip().splitlines()
    return f"{lines[0] if lines else 'no message'} ({f'{status} ' if status else ''}{code})"


@lru_cache(maxsize=16)
def _service(scheme: str, container: str, host: str, _key: object) -> BlobServiceClient:
    """One client for the settings in use, which keeps its connections."""
    from azure.core.credentials import AzureNamedKeyCredential
    from azure.storage.blob import BlobServiceClient

    place = AzurePlace(scheme, container, host, "")
    settings = AccountSettings(place)
    login = settings.login()
    credential: AzureNamedKeyCredential | TokenCredential | str
    if isinstance(login, EntraLogin):
        with _needing("azure-identity", host):
            credential = _token_credential(login)
    elif login.is_sas:
        credential = login.value  # the client then adds it to the URL of what is copied, too
    else:
        credential = AzureNamedKeyCredential(place.account, login.value)
    return BlobServiceClient(
        settings.endpoint(),
        credential=credential,
        connection_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        retry_total=_RETRIES,
        initial_backoff=0,
        increment_base=1,
        random_jitter_range=1,
    )


def _token_credential(login: EntraLogin) -> TokenCredential:
    from azure.identity import ClientSecretCredential, ManagedIdentityCredential, WorkloadIdentityCredential

    if login.managed:
        return ManagedIdentityCredential(client_id=login.client or None)
    authority = login.authority or _LOGIN_HOST
    if login.token_file:
        return WorkloadIdentityCredential(
            tenant_id=login.tenant, client_id=login.client, token_file_path=login.token_file, authority=authority
        )
    return ClientSecretCredential(login.tenant, login.client, login.secret, authority=authority)


@contextmanager
def _needing(extra: str, uri: str) -> Iterator[None]:
    try:
        yield
    except ImportError:
        raise ConfigError("STORAGE_EXTRA_MISSING", uri=uri, store="Azure", extra=extra) from None
