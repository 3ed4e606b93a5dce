"""What Penstock asks of an object store, whichever it is: `stores` has those that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

ABSENT: Final = ""
"""The version of an object that is not there."""


class OvertakenError(Exception):
    """Somebody else has written the object since it was read."""


class StoredObject(Protocol):
    """One object, read and written as a whole under the settings of Spark's client; safe for threads.

    Each call raises ConfigError OBJECT_STORE_ACCESS_DENIED, OBJECT_STORE_BUCKET_NOT_FOUND,
    OBJECT_STORE_CREDENTIALS_MISSING, OBJECT_STORE_TLS_FAILED, OBJECT_STORE_WRONG_REGION or STORAGE_NOT_WRITABLE, and
    ExternalError OBJECT_STORE_CREDENTIALS_EXPIRED, OBJECT_STORE_CLOCK_SKEWED, or STORAGE_FAILED where the store does
    not answer after three attempts.
    """

    @property
    def uri(self) -> str:
        """Where it is."""
        ...

    def read(self) -> tuple[bytes, str]:
        """Returns the content and its version; nothing, and ABSENT, when the object is not there."""
        ...

    def put(self, content: bytes) -> None:
        """Replaces the object, whatever it is."""
        ...

    def put_over(self, content: bytes, version: str) -> str:
        """Replaces that version of the object, or creates it over ABSENT; returns the new version.

        The store itself compares (`If-Match`, `If-None-Match`), so of two writers one is refused.

        Raises:
            OvertakenError: it is another version by now.
        """
        ...


class ObjectStore(Protocol):
    """A kind of object store, reached without Spark and under the settings of Spark's own client."""

    @property
    def schemes(self) -> frozenset[str]:
        """How its URIs begin."""
        ...

    @property
    def setting(self) -> str:
        """How the settings of Spark's client begin among those of a session."""
        ...

    def table_uri(self, uri: str) -> str:
        """Returns the one spelling of a place."""
        ...

    def unsupported_for_table(self, uri: str) -> str | None:
        """Returns why a Delta table cannot be at a place, as "it …"; None where it can."""
        ...

    def lists(self) -> bool:
        """Whether what is installed suffices to list folders."""
        ...

    def files(self, uri: str) -> AbstractFileSystem:
        """Returns the file system in which a URI is: reads ranges, lists, copies and deletes.

        This, or its first use, raises ConfigError STORAGE_EXTRA_MISSING, SECRET_NOT_FOUND or
        OBJECT_STORE_CREDENTIALS_MISSING.
        """
        ...

    def stored_object(self, uri: str) -> StoredObject:
        """Returns the object at a URI, there or not.

        Raises:
            ConfigError: STORAGE_EXTRA_MISSING, SECRET_NOT_FOUND, OBJECT_STORE_CREDENTIALS_MISSING,
                OBJECT_STORE_ENCRYPTION_UNSUPPORTED.
        """
        ...

    def delta_options(self, uri: str) -> dict[str, str]:
        """Returns the storage options with which delta-rs reaches a table, and commits only over a free name.

        Raises:
            ConfigError: OBJECT_STORE_ENCRYPTION_UNSUPPORTED, OBJECT_STORE_CREDENTIALS_MISSING, SECRET_NOT_FOUND.
        """
        ...
