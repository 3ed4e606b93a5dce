"""The client of HDFS for Python, under the settings of Hadoop's own: its XML files, and those of the session."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from penstock.errors import ConfigError
from penstock.storage.stores.settings import HDFS_SETTING, KERBEROS_SETTING, store_settings

if TYPE_CHECKING:
    from hdfs_native import Client

HDFS_SCHEMES: Final = frozenset({"hdfs"})

_HADOOP: Final = "spark.hadoop."
_FEWER_ATTEMPTS: Final = {"dfs.client.failover.max.attempts": "4"}
"""A few seconds: with the client's own number, a name node that is away is waited for three minutes."""

_ENVIRONMENT: Final = ("HADOOP_CONF_DIR", "HADOOP_HOME", "HADOOP_USER_NAME")
"""What the client reads when it is made."""

_ANSWER: Final = re.compile(r'^RPCError\("[\w.$]*?(?P<kind>\w+)", "(?P<message>.*?)(?:\\n.*)?"\)$', re.DOTALL)


@dataclass(frozen=True, slots=True)
class HdfsPlace:
    """A place in a file system: `authority` is HOST:PORT, the name of a service, or empty for Hadoop's default."""

    authority: str
    path: str

    @staticmethod
    def of(uri: str) -> HdfsPlace:
        """Returns the place of an `hdfs://AUTHORITY/PATH` URI, or of the same without its scheme."""
        authority, _, path = uri.rpartition("://")[2].partition("/")
        return HdfsPlace(authority, f"/{path.rstrip('/')}")


def is_installed() -> bool:
    """Whether the extra `hdfs` is there."""
    return find_spec("hdfs_native") is not None


def client_of(uri: str) -> Client:
    """Returns the client of the file system in which a URI is; makes no request.

    Raises:
        ConfigError: STORAGE_EXTRA_MISSING, SECRET_NOT_FOUND.
    """
    settings = tuple(sorted(store_settings().items()))
    environment = tuple(os.environ.get(name, "") for name in _ENVIRONMENT)
    try:
        return _client(HdfsPlace.of(uri).authority, settings, environment)
    except ImportError:
        raise ConfigError("STORAGE_EXTRA_MISSING", uri=uri, store="HDFS", extra="hdfs") from None


def hadoop_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Returns a session's settings of HDFS as Hadoop spells them."""
    return {key.removeprefix(_HADOOP): value for key, value in settings.items() if key.startswith(HDFS_SETTING)}


def replace(uri: str, content: bytes, *, overwrite: bool = True) -> None:
    """Puts a whole file in one step: a reader sees the old one or the new one.

    Raises:
        FileExistsError: without `overwrite`, when there is one.
        OSError: as `asking`.
    """
    client, path = client_of(uri), HdfsPlace.of(uri).path
    with asking(uri), written_beside(client, path, [content]) as temporary:
        client.rename(temporary, path, overwrite)


@contextmanager
def written_beside(client: Client, path: str, parts: Iterable[bytes]) -> Iterator[str]:
    """Gives the path of a new file with `parts`, hidden beside `path`; what is left of it is removed."""
    from hdfs_native import WriteOptions

    folder, _, name = path.rpartition("/")
    temporary = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"
    writer = client.create(temporary, WriteOptions(overwrite=False))
    try:
        for part in parts:
            writer.write(part)
        writer.close()
        yield temporary
    finally:
        with suppress(OSError, RuntimeError):
            client.delete(temporary, False)


@contextmanager
def asking(uri: str) -> Iterator[None]:
    """Has what the name node says raised as OSError, in one line; FileNotFoundError and FileExistsError pass."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as error:
        raise OSError(error.errno, _first_line(str(error))) from error
    except RuntimeError as error:
        answer = _ANSWER.match(str(error))
        text = f"{answer['message']} ({answer['kind']})" if answer else str(error)
        raise OSError(None, _first_line(text)) from error


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[0]


@cache
def _client(authority: str, settings: tuple[tuple[str, str], ...], _environment: tuple[str, ...]) -> Client:
    """One client for the settings in use, which keeps its connections."""
    from hdfs_native import Client

    given = dict(settings)
    login = {
        "kerberos_principal": given.get(f"{KERBEROS_SETTING}principal"),
        "kerberos_keytab": given.get(f"{KERBEROS_SETTING}keytab"),
    }
    chosen = {**_FEWER_ATTEMPTS, **hadoop_settings(given)}
    return Client(f"hdfs://{authority}" if authority else None, chosen, **login)
