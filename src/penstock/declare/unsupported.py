"""The names of the API that this version refuses, each with the reason and what to write instead."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from penstock.declare.declaration import Declaration, undecorated
from penstock.declare.registry import Registry, active_registry
from penstock.declare.user_frames import caller_location
from penstock.errors import DefinitionError
from penstock.graph.identifier import Identifier

_REFUSED: dict[str, tuple[str, str]] = {}


# Those whose first argument names no dataset or sink.
_NAMELESS: frozenset[str] = frozenset()


def _refusing(name: str, reason: str, alternative: str) -> Callable[..., Any]:
    def refuse(*arguments: Any, **options: Any) -> Any:
        registry = active_registry(name)
        call = Declaration(name, registry, caller_location(registry.root))
        call.error("UNSUPPORTED_DECLARATION", name=name, reason=reason, alternative=alternative)
        first = arguments[0] if arguments else None
        defined = options.get("target", options.get("name", first))
        if name not in _NAMELESS:
            _note_name(registry, defined)
        if callable(first) and not options:
            return first

        def decorate(function: Any = None) -> Any:
            if name not in _NAMELESS and defined is None:
                _note_name(registry, function)
            return undecorated(function)

        return decorate

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Not supported: {reason}. {alternative}."
    return refuse


def _note_name(registry: Registry, defined: object) -> None:
    """Remembers the dataset or sink that the refused declaration would have defined or filled."""
    text = defined if isinstance(defined, str) else getattr(defined, "__name__", "")
    with contextlib.suppress(DefinitionError):  # a wrong name in a refused declaration is no second error
        registry.refuse(Identifier.parse(text, default_schema=registry.default_schema))


REFUSED_DECLARATIONS: dict[str, Callable[..., Any]] = {
    name: _refusing(name, reason, alternative) for name, (reason, alternative) in _REFUSED.items()
}
