"""An object that grows, with a store that fails in ways that have no name."""

from __future__ import annotations

import errno
from unittest.mock import Mock

import pytest
from tests.processes import wait_until

from penstock.storage.stores.growing_object import GrowingObject


@pytest.mark.parametrize("failure", [OSError(errno.EMFILE, "Too many open files"), RuntimeError("x"), MemoryError()])
def test_no_failure_loses_a_line(failure: Exception) -> None:
    stored = Mock()
    stored.put.side_effect = [failure, failure, None, None]
    growing = GrowingObject(stored, pause=0.01)
    growing.write(b"line")
    wait_until(lambda: stored.put.call_count == 3, timeout=5, what="a third try", interval=0.01)
    growing.close()
    assert stored.put.call_args.args == (b"line",)
    assert growing.closed
