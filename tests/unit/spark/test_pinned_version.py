"""With which version of its table a batch is compared, whatever happens to the note about it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, Transaction, write_deltalake

from penstock.errors import StateError
from penstock.spark.expectations.uniqueness import PinnedVersion

QUERY = "3f0c0c4e-0000-0000-0000-000000000001"


@pytest.fixture
def pinned(tmp_path: Path) -> PinnedVersion:
    made = PinnedVersion(str(tmp_path / "table"), str(tmp_path / "checkpoints"), "shop.ids", "ids")
    commit(made, 6)
    return made


def commit(pinned: PinnedVersion, batch: int) -> None:
    done = CommitProperties(app_transactions=[Transaction(QUERY, batch)])
    write_deltalake(pinned.path, pa.table({"id": [batch]}), mode="append", commit_properties=done)


def test_a_batch_that_runs_again_is_compared_with_the_same_version(pinned: PinnedVersion) -> None:
    assert pinned.of(QUERY, 7) == 0
    commit(pinned, 7)
    assert pinned.of(QUERY, 7) == 0
    assert pinned.of(QUERY, 8) == 1


@pytest.mark.parametrize("damage", ["", '{"query": "3f', "[]", '{"query": 1}', "\udcff"])
def test_a_damaged_note_matters_only_when_the_table_has_the_batch(pinned: PinnedVersion, damage: str) -> None:
    assert pinned.of(QUERY, 7) == 0
    note = Path(pinned.checkpoints) / "compared_with.json"
    note.write_text(damage, errors="surrogateescape")
    assert pinned.of(QUERY, 7) == 0, "written anew"
    commit(pinned, 7)
    note.write_text(damage, errors="surrogateescape")
    with pytest.raises(StateError) as refused:
        pinned.of(QUERY, 7)
    assert refused.value.condition == "CHECKPOINT_FILE_DAMAGED"
    assert refused.value.facts["file"] == str(note)
    assert (refused.value.facts["flow"], refused.value.exit_code) == ("ids", 3)
    assert pinned.of(QUERY, 8) == 1
