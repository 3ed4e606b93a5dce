"""The object stores in which tables and a storage can be."""

from __future__ import annotations

from typing import Final

from penstock.storage.stores.azure.store import AzureStore
from penstock.storage.stores.gcs.store import GcsStore
from penstock.storage.stores.hdfs.store import HdfsStore
from penstock.storage.stores.s3.store import S3Store
from penstock.storage.stores.store import ObjectStore

_STORES: Final[tuple[ObjectStore, ...]] = (S3Store(), AzureStore(), GcsStore(), HdfsStore())


def store_of(uri: str) -> ObjectStore | None:
    """Returns the store in which a URI is; None for a path on a disk, and for a store that only Spark can reach."""
    scheme, found, _ = uri.partition("://")
    return next((store for store in _STORES if found and scheme.lower() in store.schemes), None)
