"""Google Cloud Storage as one of the object stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.storage.stores.gcs.client import is_installed
from penstock.storage.stores.gcs.objects import GcsObject
from penstock.storage.stores.gcs.settings import GCS_SCHEMES, GcsPlace, gcs_delta_options
from penstock.storage.stores.settings import GCS_SETTING
from penstock.storage.stores.table_places import unsupported_key

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


class GcsStore:
    """See `ObjectStore`: all but tables needs Google's library for logins, which is an extra."""

    schemes: Final = GCS_SCHEMES
    setting: Final = GCS_SETTING

    def table_uri(self, uri: str) -> str:
        """Returns the URI with no slash at its end."""
        return f"gs://{uri.partition('://')[2].rstrip('/')}"

    def unsupported_for_table(self, uri: str) -> str | None:
        """Returns why no table can be there."""
        return unsupported_key(GcsPlace.of(uri).key)

    def lists(self) -> bool:
        """Whether the extra is installed."""
        return is_installed()

    def files(self, uri: str) -> AbstractFileSystem:
        """Returns the objects as files; what it needs is looked for when it is first asked."""
        from penstock.storage.stores.gcs.files import GcsFiles

        return GcsFiles(uri.partition("://")[0].lower())

    def stored_object(self, uri: str) -> GcsObject:
        """Returns the object."""
        return GcsObject(uri)

    def delta_options(self, uri: str) -> dict[str, str]:
        """Returns the options with which delta-rs logs in."""
        return gcs_delta_options()
