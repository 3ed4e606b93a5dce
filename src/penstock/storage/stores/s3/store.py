"""S3 as one of the object stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.storage.stores.s3.objects import S3Object
from penstock.storage.stores.s3.settings import (
    S3_SCHEMES,
    s3_delta_options,
    s3_filesystem,
    s3a_uri,
)
from penstock.storage.stores.settings import S3A_SETTING
from penstock.storage.stores.table_places import unsupported_key

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


class S3Store:
    """See `ObjectStore`: pyarrow reads and lists, botocore writes on conditions, and only that is an extra."""

    schemes: Final = S3_SCHEMES
    setting: Final = S3A_SETTING

    def table_uri(self, uri: str) -> str:
        """Returns the URI as `s3a://`, and with no slash at its end."""
        return s3a_uri(uri)

    def unsupported_for_table(self, uri: str) -> str | None:
        """Returns why no table can be there."""
        return unsupported_key(uri.partition("://")[2].partition("/")[2])

    def lists(self) -> bool:
        """True: pyarrow comes with Penstock."""
        return True

    def files(self, uri: str) -> AbstractFileSystem:
        """Returns pyarrow's file system."""
        return s3_filesystem(uri)

    def stored_object(self, uri: str) -> S3Object:
        """Returns the object, through botocore."""
        return S3Object(uri)

    def delta_options(self, uri: str) -> dict[str, str]:
        """Returns the options of a table's bucket."""
        return s3_delta_options(uri)
