"""What every test gets: reproducible examples, and none of the developer's own settings."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("penstock", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("penstock")

# The cache of jars is shared with the developer on purpose: a test run must not download 23 MB each time.
_KEPT = {"PENSTOCK_CACHE", "PENSTOCK_CLASS_ARCHIVE", "PENSTOCK_MAVEN_MIRROR"}


@pytest.fixture(autouse=True)
def _no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("PENSTOCK_") and name not in _KEPT:
            monkeypatch.delenv(name)
