"""`on_event_hook`: a function of the user's that follows the events of an update."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast, overload

from penstock.declare.dataset_function import function_name, innermost, why_not_called_with
from penstock.declare.declaration import Declaration, declaring
from penstock.graph.elements import EventHook

F = TypeVar("F", bound=Callable[..., Any])


class EventHookDecorator(Protocol):
    """A decorator of a function of an event, used bare or called."""

    @overload
    def __call__(self, user_event_hook_fn: F, /) -> F: ...
    @overload
    def __call__(self, *, max_allowable_consecutive_failures: int | None = None) -> Callable[[F], F]: ...


def _on_event_hook(
    call: Declaration,
    /,
    user_event_hook_fn: Callable[..., Any] | None = None,
    max_allowable_consecutive_failures: int | None = None,
) -> Any:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        hook = innermost(function)
        reason = why_not_called_with(hook, {}, described="one argument, the event")
        if reason is not None:
            call.error("INVALID_EVENT_HOOK", function=function_name(hook), reason=reason)
        else:
            call.registry.add_event_hook(
                EventHook(
                    name=function_name(hook),
                    function=call.registry.bound(hook),
                    location=call.location,
                    max_failures=max_allowable_consecutive_failures,
                )
            )
        return function

    return decorate if user_event_hook_fn is None else decorate(user_event_hook_fn)


on_event_hook: EventHookDecorator = cast(
    "EventHookDecorator",
    declaring(
        _on_event_hook,
        name="on_event_hook",
        doc="""Declares a function that is called with each event of an update, as a dict.

    Args:
        max_allowable_consecutive_failures: After so many failures in a row the function is not called
            any more in this update; 0 means after the first one, None never.

    The dict has the columns of the event log; `details` is a dict, `event["details"]["flow_progress"]`
    for one. Calls come one after the other, in the order of the log, on a thread that no batch waits
    for. A function that is too slow misses events, and the number of those is logged. What it raises
    is logged as `hook_progress`, which no hook gets, and ends nothing.
    """,
    ),
)
