"""Azure as one of the object stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.storage.stores.azure.client import is_installed
from penstock.storage.stores.azure.objects import AzureBlob
from penstock.storage.stores.azure.settings import AZURE_SCHEMES, azure_delta_options, unsupported_for_table
from penstock.storage.stores.settings import AZURE_SETTING

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


class AzureStore:
    """See `ObjectStore`: all but tables needs Azure's client for Python, which is an extra."""

    schemes: Final = AZURE_SCHEMES
    setting: Final = AZURE_SETTING

    def table_uri(self, uri: str) -> str:
        """Returns the URI with no slash at its end."""
        scheme, _, rest = uri.partition("://")
        return f"{scheme.lower()}://{rest.rstrip('/')}"

    def unsupported_for_table(self, uri: str) -> str | None:
        """Returns why no table can be there."""
        return unsupported_for_table(uri)

    def lists(self) -> bool:
        """Whether the extra is installed."""
        return is_installed()

    def files(self, uri: str) -> AbstractFileSystem:
        """Returns the blobs as files; what it needs is looked for when it is first asked."""
        from penstock.storage.stores.azure.files import AzureFiles

        return AzureFiles(uri.partition("://")[0].lower())

    def stored_object(self, uri: str) -> AzureBlob:
        """Returns the blob."""
        return AzureBlob(uri)

    def delta_options(self, uri: str) -> dict[str, str]:
        """Returns the options of a table's container."""
        return azure_delta_options(uri)
