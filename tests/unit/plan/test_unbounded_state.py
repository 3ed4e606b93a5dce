"""What a plan says of the size of state that grows for ever."""

from __future__ import annotations

import pytest
from tests.unit.plan.conftest import Pipeline

from penstock.errors import DefinitionError
from penstock.events.flows.state_size import StateSize
from penstock.graph.identifier import Identifier
from penstock.graph.stream_definition import StreamDefinition
from penstock.graph.unbounded_state import SIZE_NOT_KNOWN, STREAM_JOIN, UNBOUNDED_STATE

BOTH = Identifier("shop", "both")


def warning(operator: str = STREAM_JOIN) -> DefinitionError:
    return DefinitionError(
        UNBOUNDED_STATE[operator], dataset=str(BOTH), flow="both", also="", size=SIZE_NOT_KNOWN[operator]
    )


@pytest.fixture
def joined(pipeline: Pipeline) -> Pipeline:
    pipeline.stream("orders").stream("payments").view("named", "orders*")
    pipeline.stream("both", "named*", "payments*", "files:./days*", stateful=(STREAM_JOIN,))
    pipeline.warnings = (warning(),)
    return pipeline.existing()


def size(pipeline: Pipeline, *full_refresh: str) -> str:
    [found] = pipeline.plan(full_refresh=full_refresh).warnings
    return found.facts["size"]


def test_before_the_first_batch_it_is_that_of_the_tables_that_are_known(joined: Pipeline) -> None:
    assert size(joined) == "It grows with every row."
    joined.rows["orders"] = 2_000_000
    assert (
        size(joined)
        == "It begins with the 2,000,000 rows of shop.orders (about 16 bytes each), 32.0 MB, and grows with every row."
    )
    joined.rows["payments"] = 1_000_000
    assert "and the 1,000,000 rows of shop.payments (about 16 bytes each), 48.0 MB" in size(joined)


def test_then_it_is_measured_until_a_full_refresh(joined: Pipeline) -> None:
    joined.rows["orders"] = 5
    joined.runs("both", StreamDefinition(), noted=StreamDefinition())
    joined.sizes[BOTH, "both"] = StateSize(7, 2_000_000, 3, 2.0)
    assert size(joined) == "It has 7 rows of state, 2.0 MB in memory, 2 more with each of the last 3 batches."
    assert size(joined, "both").startswith("It begins with the 5 rows of shop.orders")


def test_other_operators_are_measured_too_and_never_guessed(joined: Pipeline) -> None:
    joined.rows["orders"] = 5
    joined.warnings = (warning("aggregate"),)
    assert size(joined) == "It grows with every new group."
    joined.runs("both", StreamDefinition(), noted=StreamDefinition())
    joined.sizes[BOTH, "both"] = StateSize(7, 2_000_000)
    assert size(joined) == "It has 7 rows of state, 2.0 MB in memory."


def test_other_warnings_stay_as_they_are(joined: Pipeline) -> None:
    other = DefinitionError("WATERMARK_WITHOUT_DELAY", dataset=str(BOTH), flow="both", column="at")
    joined.warnings = (other,)
    assert joined.plan().warnings == (other,)
