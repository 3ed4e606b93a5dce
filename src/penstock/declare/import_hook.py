"""Serves `dlt` and `pyspark.pipelines` while a pipeline's code runs, and puts back what was there before.

An installed `dlt` of another maker is set aside for that time and is untouched outside of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from penstock.declare.spellings import SPELLINGS

SERVED = ("dlt", "pyspark.pipelines")


class _SpellingLoader(Loader):
    """Fills a module with one spelling of the declarations."""

    def exec_module(self, module: ModuleType) -> None:
        names = SPELLINGS[module.__name__]
        module.__dict__.update(names)
        module.__dict__["__all__"] = sorted(names)
        module.__doc__ = "The pipeline declarations of Penstock."


class _SpellingFinder(MetaPathFinder):
    """Finds the served names and nothing else."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, _SpellingLoader(), origin="penstock") if fullname in SERVED else None


@contextmanager
def served_spellings() -> Iterator[None]:
    """Within it, `import dlt` and `from pyspark import pipelines` mean Penstock."""
    finder = _SpellingFinder()
    aside = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_served(name)}
    attributes = {name: _take_attribute(name) for name in SERVED}
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if _is_served(name)]:
            del sys.modules[name]
        for name, attribute in attributes.items():
            _take_attribute(name)
            if attribute is not None:
                parent, _, child = name.rpartition(".")
                setattr(sys.modules[parent], child, attribute)
        sys.modules.update(aside)


def _is_served(name: str) -> bool:
    return any(name == served or name.startswith(f"{served}.") for served in SERVED)


def _take_attribute(name: str) -> object | None:
    """Removes the submodule `name` from its imported parent, and returns it; None when it is not there.

    `from pyspark import pipelines` looks at the attribute before it asks any finder.
    """
    parent, _, child = name.rpartition(".")
    found: object | None = vars(sys.modules[parent]).pop(child, None) if parent in sys.modules else None
    return found
