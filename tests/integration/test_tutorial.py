"""The tutorial, typed as it stands: every `sh` block of docs/tutorial.md in one shell, with Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.typed_page import type_page

pytestmark = pytest.mark.usefixtures("one_process")


@pytest.mark.timeout(900)
def test_every_step_of_the_tutorial_works(tmp_path: Path) -> None:
    done = type_page("tutorial", tmp_path)
    assert done.stdout.count("== docs/tutorial.md:") >= 8
    assert "silver_orders is right" in done.stdout
