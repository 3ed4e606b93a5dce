"""When the start on a cluster is given up, and with which condition."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from tests.processes import wait_until

from penstock.errors import ExternalError
from penstock.spark.session import start_limit as module
from penstock.spark.session.launch import SessionConfig
from penstock.spark.session.start_limit import start_limit

_SECONDS = 0.1
_CLIENT = "2026-11-25T18:00:04.014Z INFO o.a.s.d.y.Client [Thread-4]"
_ANSWERED = f"{_CLIENT} Verifying our application has not requested more than the maximum\n"
_SUBMITTED = f"{_ANSWERED}{_CLIENT} Submitting application application_17_0001 to ResourceManager\n"
_REFUSED = "KubernetesClientException: Failure executing: POST at: http://k:1/api/v1/pods. Message: Unauthorized.\n"


def _start(master: str, log: Path, *, until: Any) -> Mock:
    driver = Mock(log=log)
    with start_limit(driver, SessionConfig("x", master, cluster_timeout=_SECONDS)):
        wait_until(lambda: until(driver), timeout=20, what="the limit", interval=0.02)
    return driver


def _killed(driver: Mock) -> bool:
    return bool(driver.process.kill.called)


@pytest.mark.parametrize(
    ("master", "text", "condition", "reason"),
    [
        ("spark://m:7077", "", "CLUSTER_START_TIMEOUT", "it does not answer"),
        ("k8s://http://k:1", _REFUSED, "KUBERNETES_REFUSED", "Unauthorized (POST /api/v1/pods)"),
        ("yarn", "", "CLUSTER_START_TIMEOUT", "it does not answer"),
        ("yarn", _SUBMITTED, "YARN_QUEUE_TIMEOUT", "application_17_0001 waits"),
    ],
)
def test_a_start_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str, text: str, condition: str, reason: str
) -> None:
    monkeypatch.setattr(module, "take_out_of_queue", lambda _jvm, application: f"{application} waits")
    (tmp_path / "log").write_text(text)
    with pytest.raises(ExternalError) as ended:
        _start(master, tmp_path / "log", until=_killed)
    assert ended.value.condition == condition
    assert reason in str(ended.value)


def test_a_start_in_time_and_an_upload_are_not_ended(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(_ANSWERED)
    looks = iter(range(50))  # ten times the limit
    assert not _killed(_start("yarn", tmp_path / "log", until=lambda _driver: next(looks, None) is None))
    assert not _killed(_start("spark://m:7077", tmp_path / "log", until=lambda _driver: True))


def test_an_application_master_that_starts_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log").write_text(_SUBMITTED)
    asked: list[str] = []
    monkeypatch.setattr(module, "take_out_of_queue", lambda _jvm, application: asked.append(application))
    driver = _start("yarn", tmp_path / "log", until=lambda _driver: len(asked) >= 2)
    assert not _killed(driver)
