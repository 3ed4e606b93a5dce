"""What is known of a checkpoint's query: the note, and the settings that its newest plan has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.graph.stream_definition import WATERMARK_POLICY, StateOperator, StreamDefinition
from penstock.runtime.storage_state.stream_notes import FlowOwner, known_definition, note_stream

OWNER = FlowOwner("shop", "shop.counts", "counts")
COUNTS = StreamDefinition({"orders": "shop.orders"}, (StateOperator("aggregate"),), {"at": "1 hour"})


def _plan(folder: Path, batch: int, policy: str) -> None:
    (folder / "offsets").mkdir(exist_ok=True)
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {WATERMARK_POLICY: policy}}
    (folder / f"offsets/{batch}").write_text(f"v2\n{json.dumps(metadata)}\norders:1")


@pytest.mark.parametrize("newest", ["", "v9\n{}", "v2\n{torn"])
def test_settings_are_those_of_the_newest_plan(tmp_path: Path, newest: str) -> None:
    assert known_definition(str(tmp_path)) is None
    note_stream(str(tmp_path), COUNTS, OWNER)
    for batch, policy in ((9, "max"), (10, "min")):
        _plan(tmp_path, batch, policy)
    known = known_definition(str(tmp_path))
    assert known == COUNTS
    assert known is not None
    assert known.settings == {WATERMARK_POLICY: "min"}
    (tmp_path / "offsets/11").write_text(newest)
    damaged = known_definition(str(tmp_path))
    assert damaged is not None
    assert damaged.settings == {}, "other checks tell of the damage"
