"""A failure that does not say why is blamed on a file only if that is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.recorded.checkpoints import HOURLY, copied_checkpoints, place, recorded_checkpoints

from penstock.errors import StateError
from penstock.runtime.flows.failures import damaged_checkpoint


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(recorded_checkpoints(tmp_path_factory.mktemp("recorded") / "storage").uri)


def test_a_damaged_file_is_named_unless_it_holds_state(recorded: Path, tmp_path: Path) -> None:
    checkpoint = place(copied_checkpoints(recorded, tmp_path / "storage"), HOURLY)

    def found() -> StateError | None:
        return damaged_checkpoint(str(checkpoint), dataset="shop.hourly", flow="hourly")

    assert found() is None
    (checkpoint / "state/0/1/4.changelog").write_bytes(b"")
    assert found() is None, "Spark says so itself"
    schema = checkpoint / "state/0/0/_metadata/schema"
    schema.write_bytes(schema.read_bytes()[:30])
    error = found()
    assert error is not None
    assert (error.condition, error.facts["file"], error.retryable) == ("CHECKPOINT_FILE_DAMAGED", str(schema), False)
    assert "ends early" in error.message
    assert damaged_checkpoint(str(tmp_path / "none"), dataset="shop.hourly", flow="hourly") is None
