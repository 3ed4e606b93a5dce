"""What unit tests of several packages share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.recorded.checkpoints import recorded_checkpoints


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A storage with checkpoints, made once; `copied_checkpoints` gives a test its own."""
    return Path(recorded_checkpoints(tmp_path_factory.mktemp("recorded") / "storage").uri)
