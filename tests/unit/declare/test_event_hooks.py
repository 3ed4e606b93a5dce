"""`on_event_hook`: what it declares and what it refuses."""

from __future__ import annotations

import pytest
from tests.unit.declare.conftest import Load
from tests.unit.declare.test_accepted_api import IMPORTS


@pytest.mark.parametrize("spelling", IMPORTS)
@pytest.mark.parametrize(
    ("used", "most"),
    [
        ("api.on_event_hook", None),
        ("api.on_event_hook()", None),
        ("api.on_event_hook(max_allowable_consecutive_failures=3)", 3),
        ("api.on_event_hook(max_allowable_consecutive_failures=0)", 0),
    ],
)
def test_a_hook(load: Load, spelling: str, used: str, most: int | None) -> None:
    text = f"{IMPORTS[spelling]}\n@{used}\ndef notify(event): return event['id'] + 1\nassert notify({{'id': 1}}) == 2\n"
    registry = load(text)
    assert registry.errors == ()
    [hook] = registry.graph().event_hooks
    assert (hook.name, hook.max_failures, str(hook.location)) == ("notify", most, "pipeline.py:2")
    assert hook.function({"id": 7}) == 8


@pytest.mark.parametrize(
    "function",
    ["def notify(): ...", "def notify(a, b): ...", "async def notify(event): ...", "def notify(event): yield event"],
)
def test_functions_that_cannot_be_a_hook(load: Load, function: str) -> None:
    registry = load(f"import dlt\n@dlt.on_event_hook\n{function}\n")
    assert [error.condition for error in registry.errors] == ["INVALID_EVENT_HOOK"]
    assert registry.graph().event_hooks == ()


@pytest.mark.parametrize("value", ["-1", "True", "'3'", "2.5"])
def test_wrong_numbers_of_failures(load: Load, value: str) -> None:
    registry = load(
        f"import dlt\n@dlt.on_event_hook(max_allowable_consecutive_failures={value})\ndef notify(event): ...\n"
    )
    assert [error.condition for error in registry.errors] == ["INVALID_PARAMETER"]
    assert len(registry.graph().event_hooks) == 1
