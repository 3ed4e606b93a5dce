"""HDFS as one of the stores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from penstock.storage.stores.hdfs.client import HDFS_SCHEMES, HdfsPlace, hadoop_settings, is_installed
from penstock.storage.stores.hdfs.objects import HdfsFile
from penstock.storage.stores.settings import HDFS_SETTING, store_settings
from penstock.storage.stores.table_places import unsupported_key

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


_IN_URIS: Final = re.compile(r"[\w\-.~!$&'()*+,;=:@/]", re.ASCII)
"""What stands for itself in the path of a URI (RFC 3986, 3.3)."""


class HdfsStore:
    """See `ObjectStore`: all but tables needs a client of HDFS for Python, which is an extra."""

    schemes: Final = HDFS_SCHEMES
    setting: Final = HDFS_SETTING

    def table_uri(self, uri: str) -> str:
        """Returns the URI with no slash at its end."""
        return f"hdfs://{uri.partition('://')[2].rstrip('/')}"

    def unsupported_for_table(self, uri: str) -> str | None:
        """Returns why no table can be there: delta-rs looks for the letters of a URI."""
        path = HdfsPlace.of(uri).path
        if found := re.sub(_IN_URIS, "", path):
            return f"has a '{found[0]}', and is another place for delta-rs than for Spark"
        return unsupported_key(path, bucket="file system")

    def lists(self) -> bool:
        """Whether the extra is installed."""
        return is_installed()

    def files(self, uri: str) -> AbstractFileSystem:
        """Returns the file system; what it needs is looked for when it is first asked."""
        from penstock.storage.stores.hdfs.files import HdfsFiles

        return HdfsFiles(uri.partition("://")[0].lower())

    def stored_object(self, uri: str) -> HdfsFile:
        """Returns the file."""
        return HdfsFile(uri)

    def delta_options(self, uri: str) -> dict[str, str]:
        """Returns the settings of HDFS that the session has beside Hadoop's files."""
        return hadoop_settings(store_settings())
