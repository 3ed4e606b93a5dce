from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.recorded.build import RECORDED

from penstock.dashboard.application import create_application
from penstock.dashboard.known_pipeline import KnownPipeline
from penstock.dashboard.log.live_log import LiveLog
from penstock.dashboard.serving.access import Access

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # starlette would rather have another client than httpx
    from starlette.testclient import TestClient


def client_of(
    storage: str,
    access: Access | None = None,
    base_url: str = "http://127.0.0.1:8420",
    settings: Mapping[str, Any] | None = None,
) -> TestClient:
    application = create_application(LiveLog(storage), access or Access(), pipeline=KnownPipeline(settings))
    return TestClient(application, base_url=base_url)


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return str(tmp_path / "storage")


@pytest.fixture
def recorded() -> TestClient:
    return client_of(str(RECORDED))
