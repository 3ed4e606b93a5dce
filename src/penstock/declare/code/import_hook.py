"""Serves modules such as `dlt` while a pipeline's code runs, and puts back what was there before.

An installed `dlt` of another maker is removed for that time and is untouched outside of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

Modules = Mapping[str, Mapping[str, object]]
"""Module name -> what the module holds."""


class _ServedLoader(Loader):
    """Fills a module with what it is served with."""

    def __init__(self, names: Mapping[str, object]) -> None:
        self._names = names

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(self._names)
        module.__dict__["__all__"] = sorted(self._names)
        module.__doc__ = "Served by Penstock while pipeline files run."


class _ServedFinder(MetaPathFinder):
    """Finds the served names and nothing else."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        names = self._modules.get(fullname)
        return None if names is None else ModuleSpec(fullname, _ServedLoader(names), origin="penstock")


@contextmanager
def served_modules(modules: Modules) -> Iterator[None]:
    """Within it, importing one of these names gives what `modules` has, whatever is installed."""
    finder = _ServedFinder(modules)
    replaced = {name: sys.modules.pop(name) for name in _served_names(modules)}
    attributes = {name: _take_attribute(name) for name in modules}
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in _served_names(modules):
            del sys.modules[name]
        for name, attribute in attributes.items():
            _take_attribute(name)
            if attribute is not None:
                parent, _, child = name.rpartition(".")
                setattr(sys.modules[parent], child, attribute)
        sys.modules.update(replaced)


def _served_names(modules: Modules) -> list[str]:
    """Returns the imported modules that are served, and those below them."""
    below = tuple(f"{name}." for name in modules)
    # A copy, as other threads import, too; one call a name, as thousands are imported.
    return [name for name in list(sys.modules) if name in modules or name.startswith(below)]


def _take_attribute(name: str) -> object | None:
    """Removes the submodule `name` from its imported parent, and returns it; None when it is not there.

    `from pyspark import pipelines` looks at the attribute before it asks any finder.
    """
    parent, _, child = name.rpartition(".")
    found: object | None = vars(sys.modules[parent]).pop(child, None) if parent in sys.modules else None
    return found
