"""The `dbutils` of pipeline files: what of Databricks' utilities means something outside of its workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, NoReturn

from penstock.config import SecretReference, resolve_path
from penstock.errors import DefinitionError, did_you_mean
from penstock.storage import Storage


class Refusing:
    """A part of `dbutils` called `name`; `reason` and `alternative` say what about everything else."""

    name: ClassVar[str]
    reason: ClassVar[str] = "pipeline files run outside of a workspace"
    alternative: ClassVar[str] = "Do it before 'penstock run'"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise DefinitionError(
            "UNSUPPORTED_DECLARATION",
            name=f"{self.name}.{name}",
            reason=self.reason,
            alternative=self.alternative,
        )

    def __repr__(self) -> str:
        return self.name


class FileInfo(NamedTuple):
    """One entry of a folder.

    `path` begins with the folder as it was given; the names of folders end with `/`. `size` is in bytes,
    `modificationTime` in milliseconds since 1970; 0 where the file system keeps no time.
    """

    path: str
    name: str
    size: int
    modificationTime: int  # noqa: N815 - the name of Databricks

    def isDir(self) -> bool:
        """Whether it is a folder."""
        return self.name.endswith("/")

    def isFile(self) -> bool:
        """Whether it is a file."""
        return not self.isDir()


class Files(Refusing):
    """Answers `dbutils.fs`; a relative path is relative to the pipeline's folder.

    Raises:
        DefinitionError: PATH_NOT_MAPPED.
        FileNotFoundError: there is nothing at the path.
        ConfigError: the storage cannot be read.
    """

    name = "dbutils.fs"
    reason = "pipeline files are loaded to validate, too, and must not change data"

    def __init__(self, root: Path, paths: Mapping[str, str]) -> None:
        self._root = root
        self._paths = paths

    def ls(self, path: str) -> list[FileInfo]:
        """Returns the entries of a folder in the order of their names, or the one file at `path`."""
        storage = self._storage(path)
        if not storage.exists():
            raise FileNotFoundError(2, "No such file or directory", path)
        entries = storage.list()
        if len(entries) == 1 and not entries[0].is_directory and storage.uri.endswith(f"/{entries[0].name}"):
            [file] = entries
            return [FileInfo(path, file.name, file.size, _milliseconds(file.modified))]
        return [
            FileInfo(f"{path.rstrip('/')}/{name}", name, entry.size, _milliseconds(entry.modified))
            for entry in entries
            for name in [f"{entry.name}/" if entry.is_directory else entry.name]
        ]

    def head(self, file: str, max_bytes: int = 65_536) -> str:
        """Returns the first `max_bytes` bytes of a file as UTF-8 text."""
        return self._storage(file).read_bytes("", limit=max_bytes).decode("utf-8", errors="replace")

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return self._storage(path).exists()

    def mkdirs(self, dir: str) -> bool:
        """Makes a folder and those above it; True, also when it is there."""
        self._storage(dir).makedirs()
        return True

    def _storage(self, path: str) -> Storage:
        where = resolve_path(path, self._paths)
        return Storage(where if ":" in where.partition("/")[0] else str(self._root / where))


def _milliseconds(seconds: float | None) -> int:
    return 0 if seconds is None else int(seconds * 1000)


class Secrets(Refusing):
    """Answers `dbutils.secrets.get(scope, key)` with the entry `scope/key` of `secrets`, else with `key`."""

    name = "dbutils.secrets"
    alternative = "Name the secret: dbutils.secrets.get(scope, key)"

    def __init__(self, secrets: Mapping[str, SecretReference]) -> None:
        self._secrets = secrets

    def get(self, scope: str, key: str) -> str:
        """Returns the value of a secret, read again at each call.

        Raises:
            DefinitionError: SECRET_NOT_DECLARED.
            ConfigError: SECRET_NOT_FOUND.
        """
        full = f"{scope}/{key}"
        found = self._secrets.get(full) or self._secrets.get(key)
        if found is None:
            raise DefinitionError("SECRET_NOT_DECLARED", secret=full, suggestion=did_you_mean(full, self._secrets))
        return found.resolve()

    def getBytes(self, scope: str, key: str) -> bytes:
        """Returns the value of a secret in UTF-8; raises as `get`."""
        return self.get(scope, key).encode()


class Widgets(Refusing):
    """Answers a widget with, in this order: the parameters of `%run`, `configuration`, the widget's own default."""

    name = "dbutils.widgets"
    alternative = "Read the parameter with dbutils.widgets.get(name)"

    def __init__(self, conf: Any) -> None:
        self._conf = conf
        self._defaults: dict[str, str] = {}
        self._given: dict[str, str] = {}

    def give(self, parameters: Mapping[str, str]) -> None:
        """Takes the parameters of a `%run`; they hold from then on, as on Databricks."""
        self._given.update(parameters)

    def get(self, name: str) -> str:
        """Returns the value of a widget.

        Raises:
            DefinitionError: SQL_CONF_NOT_FOUND.
        """
        value = self._given.get(name, self._conf.get(name, None))
        if value is None:
            value = self._defaults.get(name)
        if value is None:
            raise DefinitionError("SQL_CONF_NOT_FOUND", key=name)
        return str(value)

    def getArgument(self, name: str, default: str | None = None) -> str:
        """Returns the value of a widget, or `default`; raises as `get` without one."""
        try:
            return self.get(name)
        except DefinitionError:
            if default is None:
                raise
            return default

    def getAll(self) -> dict[str, str]:
        """Returns the values of all widgets that were declared, and of the parameters of `%run`."""
        return {name: self.get(name) for name in (*self._defaults, *self._given)}

    def text(self, name: str, defaultValue: str = "", label: str | None = None) -> None:
        """Declares a widget with its default value; it is shown nowhere."""
        self._defaults[name] = str(defaultValue)

    def dropdown(self, name: str, defaultValue: str, choices: Sequence[str], label: str | None = None) -> None:
        """Declares a widget with its default value; another value than the `choices` is taken as well."""
        self._defaults[name] = str(defaultValue)

    combobox = multiselect = dropdown

    def remove(self, name: str) -> None:
        """Forgets a widget's default value."""
        self._defaults.pop(name, None)

    def removeAll(self) -> None:
        """Forgets all default values."""
        self._defaults.clear()


class Dbutils(Refusing):
    """Stands in for `dbutils`; a name that is missing here is refused with its full name."""

    name = "dbutils"

    def __init__(self, conf: Any, root: Path, paths: Mapping[str, str], secrets: Mapping[str, SecretReference]) -> None:
        """`conf` is `spark.conf`, which answers widgets; the others are of the configuration."""
        self.fs = Files(root, paths)
        self.secrets = Secrets(secrets)
        self.widgets = Widgets(conf)
        self.library = _Library()


class DbutilsFactory:
    """The `DBUtils` of `pyspark.dbutils`: `DBUtils(spark)` is the `dbutils` that pipeline files have anyway."""

    def __init__(self, dbutils: object) -> None:
        self._dbutils = dbutils

    def __call__(self, spark: object = None) -> object:
        """Returns the pipeline's `dbutils`; the session does not matter."""
        return self._dbutils


class _Library(Refusing):
    """`dbutils.library`: packages are installed where penstock runs, so there is nothing to restart."""

    name = "dbutils.library"
    alternative = "Install the package where penstock runs"

    def restartPython(self) -> None:
        """Does nothing: `%pip` has not changed anything."""
