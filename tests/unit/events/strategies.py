"""Any event that the engine could write."""

from __future__ import annotations

from datetime import UTC

from hypothesis import strategies as st

from penstock.events import Event, EventType, Level, Origin

_integers = st.integers(min_value=-(2**63), max_value=2**63 - 1)
json_values = st.recursive(
    st.none() | st.booleans() | _integers | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(st.text(), json_values, max_size=3)
origins = st.builds(
    Origin,
    pipeline_name=st.text(),
    update_id=st.text(),
    dataset_name=st.none() | st.text(),
    flow_name=st.none() | st.text(),
    batch_id=st.none() | _integers,
    host=st.none() | st.text(),
)
events = st.builds(
    Event,
    id=st.text(),
    sequence=st.integers(min_value=0, max_value=2**63 - 1),
    timestamp=st.datetimes(timezones=st.just(UTC)),
    origin=origins,
    level=st.sampled_from(Level),
    event_type=st.sampled_from(EventType),
    message=st.text(),
    details=json_objects,
    error=st.none() | json_objects,
    maturity_level=st.text(),
)
