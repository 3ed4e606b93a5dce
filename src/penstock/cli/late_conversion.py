"""Values of flags and arguments, converted without pydantic where they are text, a path or not given.

Typer converts with pydantic, whose import takes as long as a quarter of `penstock status`:
docs/decisions/commands-imported-when-called.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class _LateConversion:
    """What a parameter of Typer converts its value with; `typer` returns Typer's own."""

    kind: Any
    typer: Callable[[], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Returns the value as the command takes it."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if self.kind in (str, Path) and isinstance(value, str | Path):
            return self.kind(value)
        return self.typer().coerce(value, param=param, ctx=ctx)


def convert_late(parameters: Iterable[Any]) -> None:
    """Makes these parameters of Typer import pydantic only for a value that needs it.

    A version of Typer that does not ask for `get_runtime_param` converts as before, only later.
    """
    for parameter in parameters:
        kind = parameter.type_descriptor.annotation
        parameter.get_runtime_param = partial(_LateConversion, kind, parameter.get_runtime_param)
