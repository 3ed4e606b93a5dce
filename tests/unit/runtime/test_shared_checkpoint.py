"""Whether two queries of a script have one checkpoint, whatever its place is called."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from penstock.errors import SourceLocation, StateError
from penstock.runtime.script.rules.checkpoints import shared_checkpoint
from penstock.runtime.script.stream_write import CHECKPOINT, StreamWrite


def _write(name: str, checkpoint: str) -> StreamWrite:
    frame: Any = None
    return StreamWrite(
        frame=frame, location=SourceLocation("app.py"), format="delta", name=name, options={CHECKPOINT: checkpoint}
    )


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("/srv/c", "file:/srv/c/", True),
        ("s3://lake/c", "s3a://lake/c/", True),
        ("s3://lake/c", "s3://lake/c2", False),
        ("/lake/c", "s3://lake/c", False),
    ],
)
def test_two_names_of_one_place(first: str, second: str, shared: bool) -> None:
    starting = Mock(earlier=lambda: [(_write("one", first), True)])
    if shared:
        with pytest.raises(StateError) as refused:
            shared_checkpoint(_write("two", second), starting)
        assert (refused.value.condition, refused.value.facts["other"]) == ("QUERY_CHECKPOINT_SHARED", "one")
    else:
        assert shared_checkpoint(_write("two", second), starting).name == "two"
