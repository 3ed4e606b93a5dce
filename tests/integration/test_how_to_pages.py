"""How-to pages, typed as they stand: all `sh` blocks of a page in one shell, with Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.typed_page import type_page

pytestmark = pytest.mark.usefixtures("one_process")

PRINTED = {
    "replay-a-batch": [" equal, 0 only in the replay, 0 only in the table", "the rows differ"],
    "look-at-state": ["stateStoreSave", "window.start", '"operator": 0'],
    "test-a-pipeline": ["2 passed", "1 passed", "3 passed"],
}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PRINTED)
def test_every_step_of_the_page_works(tmp_path: Path, page: str) -> None:
    done = type_page(f"how-to/{page}", tmp_path)
    assert [words for words in PRINTED[page] if words not in done.stdout] == []
    assert list((tmp_path / "shop/.penstock").glob("scratch/*")) == []
