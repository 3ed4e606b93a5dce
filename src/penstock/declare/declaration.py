"""One call of a declaration function: its place, its registry, and the check of its arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from penstock.declare.parameters import REFUSALS, TYPES, WITHOUT_EFFECT, ParameterType, Refusal, describe
from penstock.declare.registry import PipelineRegistry, active_registry
from penstock.declare.user_frames import caller_location
from penstock.errors import DefinitionError, SourceLocation, did_you_mean
from penstock.graph.identifier import Identifier

# The first parameter of decorators that may stand without parentheses.
_DECORATED = frozenset({"query_function", "sink_function", "user_event_hook_fn"})

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Declaration:
    """A call in progress: `function` as the user wrote it, where, and into which pipeline."""

    function: str
    registry: PipelineRegistry
    location: SourceLocation

    def error(self, condition: str, *, dataset: str | None = None, **facts: object) -> None:
        """Records an error at this call's line."""
        self.registry.add_error(DefinitionError(condition, location=self.location, dataset=dataset, **facts))

    def identifier(self, name: str) -> Identifier | None:
        """Returns the full name of the dataset called `name`; None when the error was recorded."""
        try:
            return Identifier.parse(name, default_schema=self.registry.default_schema)
        except DefinitionError as error:
            self.error(error.condition, **error.facts)
            return None


def declaring(
    function: Callable[Concatenate[Declaration, P], R],
    *,
    name: str | None = None,
    doc: str | None = None,
    required: tuple[str, ...] = (),
    types: Mapping[str, ParameterType] = MappingProxyType({}),
    refusals: Mapping[str, Refusal] = REFUSALS,
) -> Callable[P, R]:
    """Makes a declaration function of `function`, called `name` (default: as the function) in errors.

    Wrong arguments are recorded with the user's line, and dropped: the declaration goes on with the
    rest, so that what reads it is not reported as well. Without an argument that has no default, or
    is one of `required`, there is nothing to declare, and the result is `undecorated`. `types` are
    of parameters that mean something else here than in the other functions, `refusals` the values of
    known parameters that are not supported.
    """
    own = inspect.signature(function)
    public = own.replace(parameters=list(own.parameters.values())[1:])
    needed = tuple(key for key, parameter in public.parameters.items() if parameter.default is parameter.empty)
    shown = name or function.__name__

    @functools.wraps(function)
    def declare(*arguments: P.args, **options: P.kwargs) -> R:
        registry = active_registry(shown)
        call = Declaration(shown, registry, caller_location(registry.root))
        if _is_bare(public, arguments, options):
            for key in needed + required:
                call.error("MISSING_PARAMETER", function=shown, parameter=key)
            return cast("R", arguments[0])
        given = _given(call, public, arguments, options)
        values = {
            key: value
            for key, value in given.items()
            if _is_acceptable(call, public.parameters[key], types.get(key) or TYPES[key], value, refusals)
        }
        missing = [key for key in needed + required if values.get(key) is None]
        for key in missing:
            if given.get(key) is None and (key not in given or key in required):
                call.error("MISSING_PARAMETER", function=shown, parameter=key)
        if missing:
            return cast("R", undecorated)
        return cast("Callable[..., R]", function)(call, **values)

    declare.__signature__ = public  # type: ignore[attr-defined]
    declare.__name__ = declare.__qualname__ = shown
    declare.__doc__ = doc or function.__doc__
    return declare


def undecorated(function: Any = None, **_: object) -> Any:
    """Stands in for the decorator of a refused declaration: returns the function as it is."""
    return undecorated if function is None else function


def _is_bare(signature: inspect.Signature, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
    """Whether a decorator that needs arguments stands on a function without them."""
    return (
        _DECORATED.isdisjoint(signature.parameters) and not options and len(arguments) == 1 and callable(arguments[0])
    )


def _given(
    call: Declaration, signature: inspect.Signature, arguments: tuple[Any, ...], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the arguments by name; records an error for each that has no parameter."""
    names = tuple(signature.parameters)
    given = dict(zip(names, arguments, strict=False))
    for extra in arguments[len(names) :]:
        _invalid(call, "positional argument", "a keyword argument", extra)
    for name, value in options.items():
        if name in names:
            given[name] = value
        else:
            call.error(
                "UNKNOWN_PARAMETER",
                function=call.function,
                parameter=name,
                suggestion=did_you_mean(name, names),
                known=", ".join(known for known in names if known not in _DECORATED),
            )
    return given


def _is_acceptable(
    call: Declaration,
    parameter: inspect.Parameter,
    kind: ParameterType,
    value: object,
    refusals: Mapping[str, Refusal],
) -> bool:
    if value is None and parameter.default is None:
        return True
    if not kind.accepts(value):
        _invalid(call, parameter.name, kind.expected, value)
        return False
    refusal = refusals.get(parameter.name)
    if refusal is not None and not refusal.accepts(value):
        call.error(
            "UNSUPPORTED_PARAMETER",
            function=call.function,
            name=parameter.name,
            reason=refusal.reason,
            alternative=refusal.alternative,
        )
        return False
    without_effect = WITHOUT_EFFECT.get(parameter.name)
    if without_effect is not None and not without_effect.accepts(value):
        shown = f"{parameter.name} of {call.function}"
        notice_without_effect(call.registry, call.location, shown, without_effect.reason, without_effect.alternative)
        return False
    return True


def notice_without_effect(
    registry: PipelineRegistry, place: SourceLocation, name: str, reason: str, alternative: str
) -> None:
    """Adds the notice for a part of a declaration that changes no row: what it asks for is not done."""
    facts = {"name": name, "reason": reason, "alternative": alternative}
    registry.add_notice(DefinitionError("DECLARATION_WITHOUT_EFFECT", location=place, dataset=None, **facts))


def _invalid(call: Declaration, parameter: str, expected: str, value: object) -> None:
    call.error("INVALID_PARAMETER", function=call.function, parameter=parameter, expected=expected, got=describe(value))
