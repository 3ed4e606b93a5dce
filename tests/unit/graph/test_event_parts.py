"""A table of change flows has a quarantine for what cannot be applied to it."""

from __future__ import annotations

import pytest

from penstock.errors import SourceLocation
from penstock.graph.companions.quarantining import has_quarantine, with_event_parts
from penstock.graph.elements import EventPart, Expectation, OnViolation, StreamingTable, UnresolvedFlow
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedFlow
from penstock.graph.schema.table_schema import Schema

PLACE = SourceLocation("p.py", 1)
OWN = Expectation("own", "a > 0", OnViolation.WARN, PLACE)
TABLE = StreamingTable(identifier=Identifier("shop", "t"), location=PLACE, expectations=(OWN,))


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (FlowType.APPEND, []),
        (FlowType.CHANGE, [EventPart.KEY, EventPart.SEQUENCE]),
        (FlowType.SNAPSHOT_CHANGE, [EventPart.KEY]),
    ],
)
def test_what_is_expected_of_events_comes_after_what_the_user_expects(kind: FlowType, parts: list[EventPart]) -> None:
    flow = UnresolvedFlow(name="f", target=TABLE.identifier, function=lambda: None, location=PLACE)
    resolved = ResolvedFlow(flow, kind, Schema('{"type": "struct", "fields": []}'), streaming=True, inputs=())
    table = with_event_parts(TABLE, [resolved])
    assert [each.constraint for each in table.expectations] == ["a > 0", *parts]
    assert has_quarantine(table) == bool(parts)
