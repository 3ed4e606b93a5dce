"""What every test gets: reproducible examples, and none of the developer's own settings."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "penstock", deadline=None, derandomize=bool(os.environ.get("CI")), suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("penstock")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets programs in the background ignore Ctrl-C, and so would the programs under test.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The cache of jars is shared with the developer on purpose: a test run must not download 23 MB each time.
_KEPT = {"PENSTOCK_ACCELERATORS", "PENSTOCK_CACHE", "PENSTOCK_CLASS_ARCHIVE", "PENSTOCK_MAVEN_MIRROR"}


@pytest.fixture(autouse=True)
def _no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("PENSTOCK_") and name not in _KEPT:
            monkeypatch.delenv(name)
