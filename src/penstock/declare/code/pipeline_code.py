"""The import environment of a pipeline: entered while its files load and whenever its functions run."""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import ClassVar, ParamSpec, TypeVar

from penstock.declare.code.dbutils import DbutilsFactory
from penstock.declare.code.import_hook import served_modules
from penstock.declare.code.notebook import NotebookRunner
from penstock.declare.code.pickling import pickle_as_usual, pickle_by_value
from penstock.declare.code.user_modules import UserFinder, UserModules
from penstock.declare.spellings import SPELLINGS

P = ParamSpec("P")
R = TypeVar("R")


class PipelineCode:
    """Makes the user's imports work, and leaves no trace of them outside.

    Inside `active()`: `dlt`, `pyspark.pipelines` and `pyspark.dbutils` are served, the pipeline's folders can be
    imported from, and the user's modules are in `sys.modules`. It may be entered again, and by
    several threads; the last to leave restores the process. A process has one `sys.modules`, so a thread
    that enters waits until another pipeline's threads have left.
    """

    _turn: ClassVar = threading.Condition()
    _active: ClassVar[PipelineCode | None] = None

    def __init__(
        self, files: Sequence[Path], root: Path, given: Mapping[str, object], notebooks: NotebookRunner
    ) -> None:
        self._modules = UserModules(files, root, given, notebooks)
        self._served = {name: SPELLINGS[name] for name in ("dlt", "pyspark.pipelines")} | {
            "pyspark.dbutils": {"DBUtils": DbutilsFactory(given.get("dbutils"))}
        }
        self._depth = 0
        self._stack = ExitStack()
        self._imported: dict[str, ModuleType] = {}
        self._own_path: list[str] = []

    def run(self, file: Path) -> ModuleType:
        """Runs a library file once; see `UserModules.run`."""
        with self.active():
            return self._modules.run(file)

    def bind(self, function: Callable[P, R]) -> Callable[P, R]:
        """Returns `function` wrapped in `active()`."""

        @functools.wraps(function)
        def bound(*arguments: P.args, **options: P.kwargs) -> R:
            with self.active():
                return function(*arguments, **options)

        return bound

    @contextmanager
    def active(self) -> Iterator[None]:
        """Enters the pipeline's import environment."""
        with self._turn:
            self._turn.wait_for(lambda: PipelineCode._active in (None, self))
            if self._depth == 0:
                self._enter()
                PipelineCode._active = self
            self._depth += 1
        try:
            yield
        finally:
            with self._turn:
                self._depth -= 1
                if self._depth == 0:
                    PipelineCode._active = None
                    self._turn.notify_all()
                    self._stack.close()

    def _enter(self) -> None:
        with ExitStack() as stack:
            stack.enter_context(served_modules(self._served))
            stack.enter_context(self._own_modules())
            stack.enter_context(self._folders_on_path())
            stack.enter_context(self._pickled_by_value())
            self._stack = stack.pop_all()

    @contextmanager
    def _own_modules(self) -> Iterator[None]:
        shadowed = {top for top in {name.partition(".")[0] for name in list(sys.modules)} if self._modules.shadows(top)}
        replaced = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in shadowed}
        before = set(sys.modules)
        sys.modules.update(self._imported)
        try:
            yield
        finally:
            added = [(name, module) for name, module in list(sys.modules.items()) if name not in before]
            self._imported = {name: module for name, module in added if self._modules.owns(module)}
            for name in self._imported:
                del sys.modules[name]
            sys.modules.update(replaced)

    @contextmanager
    def _folders_on_path(self) -> Iterator[None]:
        finder, before, folders = UserFinder(self._modules), frozenset(sys.path), self._modules.folders
        importlib.invalidate_caches()
        sys.meta_path.insert(0, finder)
        sys.path.extend(entry for entry in (*folders, *self._own_path) if entry not in before)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)
            # What the user's code has put on the path is for this pipeline only, too.
            self._own_path = [entry for entry in sys.path if entry not in before and entry not in folders]
            sys.path[:] = [entry for entry in sys.path if entry in before]

    @contextmanager
    def _pickled_by_value(self) -> Iterator[None]:
        for module in self._modules.loaded:
            pickle_by_value(module)
        try:
            yield
        finally:
            for module in self._modules.loaded:
                pickle_as_usual(module)
