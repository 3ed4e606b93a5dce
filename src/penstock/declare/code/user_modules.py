"""The modules of a pipeline's directory: each file runs once, whoever asks for it first."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType, TracebackType

from penstock.declare.code.notebook import NotebookRunner
from penstock.declare.code.notebook.files import read_source_text, runs_main_block
from penstock.declare.code.pickling import PipelineModule, pickle_by_value

# A user's `delta.py` or `queue.py` must not replace what Spark and the standard library import themselves.
_NEVER_SHADOWED = sys.stdlib_module_names | {
    "__main__",
    "delta",
    "numpy",
    "pandas",
    "penstock",
    "py4j",
    "pyarrow",
    "pyspark",
}


class _Entry:
    """A file that was begun: its module, and how it failed."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.failure: BaseException | None = None
        self.traceback: TracebackType | None = None


class UserModules:
    """Runs the pipeline's files, notebooks too, and remembers the module of each by its real path.

    `files` get `given` as extra globals; other modules of `folders` are plain Python. A file that
    failed is not run a second time: whoever imports it gets the same exception.
    """

    def __init__(
        self, files: Sequence[Path], root: Path, given: Mapping[str, object], notebooks: NotebookRunner
    ) -> None:
        self.folders = tuple(dict.fromkeys([str(root), *(str(file.parent) for file in files)]))
        self._root = root
        self._given = given
        self._notebooks = notebooks
        self._library = {os.path.realpath(file) for file in files}
        self._entries: dict[str, _Entry] = {}
        self._names: set[str] = set()

    @property
    def loaded(self) -> tuple[ModuleType, ...]:
        """The modules of all files that were begun."""
        return tuple(entry.module for entry in self._entries.values())

    def run(self, file: Path) -> ModuleType:
        """Runs a library file, unless an import ran it before.

        Raises:
            DefinitionError: PIPELINE_FILE_UNREADABLE.
            BaseException: Whatever the user's code raises, SyntaxError included.
        """
        known = self.known(str(file))
        if known is not None:
            return known
        module = PipelineModule(self._unique_name(file))
        sys.modules[module.__name__] = module
        self.execute(module, str(file), is_imported=False)
        return module

    def known(self, path: str) -> ModuleType | None:
        """Returns the module of a file that was begun; raises its exception if it failed."""
        entry = self._entries.get(os.path.realpath(path))
        if entry is None:
            return None
        if entry.failure is not None:
            raise entry.failure.with_traceback(entry.traceback)
        return entry.module

    def execute(self, module: ModuleType, path: str, *, is_imported: bool = True) -> None:
        """Runs the file at `path` as `module`, compiled from its source: no stale bytecode, none left behind."""
        real = os.path.realpath(path)
        entry = self._entries[real] = _Entry(module)
        module.__dict__["__file__"] = path
        if real in self._library:
            module.__dict__.update(self._given)
        pickle_by_value(module)
        name = module.__name__
        try:
            if not is_imported and runs_main_block(Path(path), read_source_text(Path(path), self._root)):
                module.__name__ = "__main__"
            self._notebooks.run(Path(path), module.__dict__)
        except BaseException as failure:
            entry.failure, entry.traceback = failure, failure.__traceback__
            raise
        finally:
            module.__name__ = name

    def owns(self, module: ModuleType) -> bool:
        """Whether a module, or a namespace package, comes from the pipeline's folders."""
        if any(module is entry.module for entry in self._entries.values()):
            return True
        if getattr(module, "__file__", None) is not None:
            return False
        places = _paths_of(module)
        return bool(places) and all(self.has_folder(place) for place in places)

    def shadows(self, name: str) -> bool:
        """Whether the pipeline's folders hold a file or regular package for the top-level `name`."""
        if name in _NEVER_SHADOWED:
            return False
        return any(
            os.path.isfile(os.path.join(folder, ending))
            for folder in self.folders
            for ending in (f"{name}.py", os.path.join(name, "__init__.py"))
        )

    def has_folder(self, path: str) -> bool:
        """Whether a folder is one of the pipeline's, or below one."""
        return any(Path(path).is_relative_to(folder) for folder in self.folders)

    def _unique_name(self, file: Path) -> str:
        relative = os.path.splitext(os.path.relpath(file, self._root))[0]
        name = base = "pipeline_" + re.sub(r"\W+", "_", relative)
        number = 1
        while name in self._names:
            number += 1
            name = f"{base}_{number}"
        self._names.add(name)
        return name


class _UserLoader(Loader):
    """Hands out the module that a file already has, or runs the file."""

    def __init__(self, modules: UserModules, path: str) -> None:
        self._modules = modules
        self._path = path
        self._spec_before: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        known = self._modules.known(self._path)
        self._spec_before = known.__spec__ if known is not None else None
        return known or PipelineModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if self._modules.known(self._path) is None:
            self._modules.execute(module, self._path)
        else:
            module.__spec__ = self._spec_before


class _FolderLoader(Loader):
    """Makes a package of a folder without `__init__.py`."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return PipelineModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Such a package has no code."""


class UserFinder(MetaPathFinder):
    """Finds modules in the pipeline's folders before installed ones.

    A folder without `__init__.py` comes last, as in Python itself, so that a data folder named like
    a library hides nothing.
    """

    def __init__(self, modules: UserModules) -> None:
        self._modules = modules

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Called by the import system; None passes the name on to the next finder."""
        if path is None and fullname in _NEVER_SHADOWED:
            return None
        places: Iterable[str] = self._modules.folders if path is None else path
        mine = [place for place in places if self._modules.has_folder(place)]
        spec = PathFinder.find_spec(fullname, mine) if mine else None
        if spec is None:
            return None
        if spec.loader is None:
            return self._folder_spec(fullname, spec, path)
        if spec.origin is None or not spec.origin.endswith(".py"):
            return None
        spec.loader = _UserLoader(self._modules, spec.origin)
        spec.cached = None
        return spec

    def _folder_spec(self, fullname: str, found: ModuleSpec, path: Sequence[str] | None) -> ModuleSpec | None:
        installed = PathFinder.find_spec(fullname, path)
        if installed is None or installed.loader is not None:
            return None
        spec = ModuleSpec(fullname, _FolderLoader(), is_package=True)
        spec.submodule_search_locations = list(found.submodule_search_locations or ())
        return spec


def _paths_of(module: ModuleType) -> list[str]:
    try:
        return [str(place) for place in getattr(module, "__path__", ())]
    except (KeyError, TypeError):  # a namespace package whose parent is gone, or a lazy object posing as a module
        return []
