"""A small seam over file systems as fsspec has them: storage paths are URIs, the local disk is one scheme of some."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final, cast

from penstock.errors import ConfigError, ExternalError, PenstockError, exhaustion
from penstock.storage.local_disk import LocalDisk, local_path
from penstock.storage.stores.errors import object_store_error
from penstock.storage.stores.stores import store_of

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_GUARD_SECONDS: Final = 0.5
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_BROKEN: Final = frozenset(
    {errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.EHOSTDOWN, errno.EHOSTUNREACH}
)
"""A disk or a file server that does not answer; other errors are about one path, and the user's to correct."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One entry of a folder: `name` is its last path component, `size` bytes, `modified` seconds since 1970."""

    name: str
    uri: str
    size: int
    is_directory: bool
    modified: float | None = None


class Storage:
    """The files under one URI, reached without Spark.

    `uri` is a path or `file://` URI of the local disk (a relative one is made absolute),
    `memory://…` (this process only, for tests), or one of an object store, `s3a://…`, `abfss://…` or `gs://…`. Every
    `location` parameter is a URI under it, as `StorageLayout` returns, or a path relative to it.

    Reading what does not exist raises FileNotFoundError. Wherever STORAGE_NOT_READABLE or STORAGE_NOT_WRITABLE is
    named, a disk that does not answer raises ExternalError STORAGE_FAILED, and writing where no space is left
    STORAGE_FULL. Nothing here is retried.

    Raises:
        ConfigError: STORAGE_SCHEME_UNSUPPORTED, STORAGE_NOT_READABLE; of an object store as for `ObjectStore.files`.
    """

    def __init__(self, uri: str) -> None:
        self.scheme = _scheme(uri)
        self._fs = _open_filesystem(uri, self.scheme)
        if "://" not in uri:
            uri = os.path.abspath(uri.removeprefix("file:"))
        self.uri = uri.rstrip("/") or "/"

    @property
    def is_local(self) -> bool:
        """Whether the files are on a disk that this machine mounts."""
        return self.scheme == "file"

    def resolve(self, location: str) -> str:
        """Returns the URI of `location`, which is relative to this storage unless it is a URI."""
        if "://" in location or location.startswith("/"):
            return location
        return f"{self.uri.rstrip('/')}/{location}" if location else self.uri

    def read_text(self, location: str) -> str:
        """Returns the whole file, decoded as UTF-8."""
        return self.read_bytes(location).decode()

    def read_bytes(self, location: str, *, start: int = 0, limit: int | None = None) -> bytes:
        """Returns up to `limit` bytes (None: all) from byte `start` on; empty past the end.

        Raises:
            FileNotFoundError: there is no such file.
            ConfigError: STORAGE_NOT_READABLE.
        """
        uri = self.resolve(location)
        with _reading(uri), self._fs.open(uri, "rb") as file:
            if start:
                if file.seek(0, os.SEEK_END) <= start:
                    return b""  # not every store lets a reader be beyond the end
                file.seek(start)
            return cast("bytes", file.read() if limit is None else file.read(limit))

    def write_text_atomic(self, location: str, text: str) -> None:
        """Replaces the file by `text`; a reader sees the old content or the new, never a part."""
        self.write_bytes_atomic(location, text.encode())

    def write_bytes_atomic(self, location: str, content: bytes) -> None:
        """Replaces the file by `content`, as `write_text_atomic` does."""
        uri = self.resolve(location)
        if (store := store_of(uri)) is not None:
            store.stored_object(uri).put(content)  # encrypted as the settings say; shown only when it is complete
            return
        with _writing(uri):
            if not self.is_local:
                self._fs.pipe_file(uri, content)
                return
            path = local_path(uri)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            temporary = f"{path}.{uuid.uuid4().hex}.tmp"
            with open(temporary, "wb") as file:
                file.write(content)
            os.replace(temporary, path)

    def append(self, location: str, content: bytes) -> None:
        """Adds `content` to the end of a file of a local disk, in one write; makes the file and its folder.

        Elsewhere the whole file is written again.

        Raises:
            ConfigError: STORAGE_NOT_WRITABLE.
        """
        uri = self.resolve(location)
        if not self.is_local:
            self.write_bytes_atomic(uri, (self.read_bytes(uri) if self.exists(uri) else b"") + content)
            return
        path = local_path(uri)
        with _writing(uri):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "ab", buffering=0) as file:
                if file.write(content) != len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def create(self, location: str) -> BinaryIO:
        """Creates a file and returns it for writing, unbuffered where the file system allows.

        Raises:
            FileExistsError: another process was faster.
            ConfigError: STORAGE_NOT_WRITABLE.
        """
        uri = self.resolve(location)
        with _writing(uri):
            self._fs.makedirs(uri.rpartition("/")[0], exist_ok=True)
        with _writing(uri, passing=FileExistsError):
            if self.is_local:
                return cast("BinaryIO", open(local_path(uri), "xb", buffering=0))
            if self._fs.exists(uri):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), uri)
            return cast("BinaryIO", self._fs.open(uri, "wb"))

    def create_log(self, location: str) -> BinaryIO:
        """Creates a file to which lines are added, and returns it; in an object store they are a second later.

        Raises:
            FileExistsError: another process was faster.
            ConfigError: STORAGE_NOT_WRITABLE; in an object store as for `StoredObject`.
        """
        if (store := store_of(self.uri)) is None:
            return self.create(location)
        from penstock.storage.stores.growing_object import GrowingObject

        return cast("BinaryIO", GrowingObject(store.stored_object(self.resolve(location))))

    def open(self, location: str) -> IO[bytes]:
        """Opens a file for reading; the caller closes it."""
        uri = self.resolve(location)
        with _reading(uri):
            return cast("IO[bytes]", self._fs.open(uri, "rb"))

    def walk(self, location: str = "") -> list[StoredFile]:
        """Returns all files below the folder, each with its path in it as the name; a missing folder is empty."""
        uri = self.resolve(location)
        with _reading(uri):
            self._fs.invalidate_cache()
            try:
                entries = self._fs.find(uri, detail=True)
            except FileNotFoundError:
                return []
            root = str(self._fs._strip_protocol(uri)).rstrip("/")  # noqa: SLF001 - fsspec has no public name for it
            return _folder(uri, [(str(path).removeprefix(root).lstrip("/"), entries[path]) for path in entries])

    def list(self, location: str = "") -> list[StoredFile]:
        """Returns the folder's entries in the order of their names; a missing folder is empty."""
        uri = self.resolve(location)
        with _reading(uri):
            self._fs.invalidate_cache()
            try:
                entries = self._fs.ls(uri, detail=True)
            except FileNotFoundError:
                return []
            return _folder(uri, [(str(entry["name"]).rstrip("/").rpartition("/")[2], entry) for entry in entries])

    def exists(self, location: str = "") -> bool:
        """Whether a file or folder is there."""
        uri = self.resolve(location)
        with _reading(uri):
            self._fs.invalidate_cache()
            return bool(self._fs.exists(uri))

    def find(self, location: str) -> StoredFile | None:
        """Returns what is known of a file or folder, None when it is missing."""
        uri = self.resolve(location)
        with _reading(uri):
            self._fs.invalidate_cache()
            try:
                entry = self._fs.info(uri)
            except FileNotFoundError:
                return None
            return _stored(uri.rstrip("/").rpartition("/")[2], uri, entry)

    def delete(self, location: str) -> None:
        """Removes a file, or a folder with all that it holds; nothing happens when it is missing."""
        uri = self.resolve(location)
        with _writing(uri):
            if self._fs.exists(uri):
                self._fs.rm(uri, recursive=self._fs.isdir(uri))

    def move(self, source: str, target: str) -> None:
        """Moves a folder to where nothing is yet; a missing one is nothing to do.

        On a local disk this is one atomic step. Elsewhere each file is copied and then all are deleted: when the
        process dies in between, the same call again completes it, and until then nothing is lost.
        """
        old, new = self.resolve(source), self.resolve(target)
        with _writing(old):
            self._fs.invalidate_cache()
            if not self._fs.exists(old):
                return
            if self.is_local:
                os.makedirs(os.path.dirname(local_path(new)), exist_ok=True)
                os.rename(local_path(old), local_path(new))
                return
            for file in self.walk(old):
                self._fs.cp_file(file.uri, f"{new}/{file.name}")
            self._fs.rm(old, recursive=True)

    def move_file(self, source: str, target: str) -> None:
        """Moves a file of this storage to a path of it at which nothing is, also on another disk.

        A process that dies in between leaves the file where it was, and perhaps the whole of it at `target` too.
        """
        old, new = self.resolve(source), self.resolve(target)
        with _writing(new):
            if not self.is_local:
                self._fs.cp_file(old, new)  # `copy` takes a question mark in a name for a pattern
                self._fs.rm_file(old)
                return
            path, place = local_path(old), local_path(new)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            try:
                os.rename(path, place)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                temporary = f"{os.path.dirname(place)}/.{os.path.basename(place)}.{uuid.uuid4().hex}.tmp"
                shutil.copy2(path, temporary)
                with open(temporary, "rb") as copied:
                    os.fsync(copied.fileno())
                os.rename(temporary, place)
                os.unlink(path)

    def sync(self, location: str) -> None:
        """Waits until all files of a folder are on the disk; an object store has them when it confirms them."""
        uri = self.resolve(location)
        if not self.is_local:
            return
        with _writing(uri):
            for folder, _, names in os.walk(local_path(uri)):
                for path in (folder, *(os.path.join(folder, name) for name in names)):
                    descriptor = os.open(path, os.O_RDONLY)
                    try:
                        os.fsync(descriptor)
                    finally:
                        os.close(descriptor)

    def makedirs(self, location: str = "") -> None:
        """Makes the folder and its parents; nothing happens when they are there."""
        uri = self.resolve(location)
        with _writing(uri):
            self._fs.makedirs(uri, exist_ok=True)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keeps other processes out of a section of a few milliseconds, such as a lock's takeover.

        Local disks only (flock on the storage's folder, which must exist); elsewhere it does nothing.

        Raises:
            TimeoutError: another process stayed inside for half a second.
            ConfigError: STORAGE_NOT_WRITABLE.
        """
        if not self.is_local:
            yield
            return
        with _writing(self.uri):
            folder = os.open(local_path(self.uri), os.O_RDONLY)
        try:
            _flock(folder)
            yield
        finally:
            os.close(folder)


def can_open(uri: str) -> bool:
    """Whether there is a `Storage` for a URI: the clients of Azure and Google Cloud are extras."""
    store = store_of(uri)
    return store.lists() if store is not None else _scheme(uri) in {"file", "memory"}


def _scheme(uri: str) -> str:
    return uri.partition("://")[0].lower() if "://" in uri else "file"


def _folder(uri: str, entries: Iterable[tuple[str, Mapping[str, Any]]]) -> list[StoredFile]:
    found = [_stored(name, f"{uri.rstrip('/')}/{name}", entry) for name, entry in entries]
    return sorted(found, key=lambda entry: entry.name)


def _stored(name: str, uri: str, entry: Mapping[str, Any]) -> StoredFile:
    """Returns an entry of fsspec, whose file systems name the time differently: a number or a datetime."""
    modified = entry.get("mtime") or entry.get("LastModified") or entry.get("created")
    if isinstance(modified, datetime):
        modified = modified.timestamp()
    seconds = float(modified) if isinstance(modified, (int, float)) else None
    return StoredFile(name, uri, int(entry.get("size") or 0), entry["type"] == "directory", seconds)


def _open_filesystem(uri: str, scheme: str) -> AbstractFileSystem:
    if scheme == "file":
        return LocalDisk()
    if (store := store_of(uri)) is not None:
        with _reading(uri):
            return store.files(uri)
    if scheme != "memory":
        raise ConfigError("STORAGE_SCHEME_UNSUPPORTED", uri=uri, scheme=scheme)
    import fsspec

    return fsspec.filesystem(scheme)


def _flock(descriptor: int) -> None:
    deadline = time.monotonic() + _GUARD_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError from None
            time.sleep(0.01)
        else:
            return


@contextmanager
def _reading(uri: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _failure("STORAGE_NOT_READABLE", uri, error) from error


@contextmanager
def _writing(uri: str, *, passing: type[OSError] | None = None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if passing is not None and isinstance(error, passing):
            raise
        if error.errno in _FULL:
            raise ExternalError("STORAGE_FULL", detail=f"{uri}: {error.strerror}") from error
        raise _failure("STORAGE_NOT_WRITABLE", uri, error) from error


def _failure(condition: str, uri: str, error: OSError) -> PenstockError:
    if (exhausted := exhaustion(error)) is not None:
        return exhausted
    if error.errno in _BROKEN:
        return ExternalError("STORAGE_FAILED", detail=f"{uri}: {error.strerror}")
    if store_of(uri) is not None and (refused := object_store_error(uri, error)) is not None:
        return refused
    return ConfigError(condition, path=uri, reason=error.strerror or error)
