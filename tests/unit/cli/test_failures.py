"""An error that nobody has translated is a bug, unless it comes of a JVM that has died."""

from __future__ import annotations

import pytest

from penstock.cli.screen.failures import report_failure
from penstock.spark.session import session


@pytest.mark.parametrize(("exit_code", "condition"), [(None, "INTERNAL_ERROR"), (-9, "JVM_DIED")])
def test_a_refused_connection(
    exit_code: int | None,
    condition: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(session, "jvm_exit_code", lambda within: exit_code)
    assert report_failure(ConnectionRefusedError(111, "refused"), as_json=True, debug=False) == 1
    told = capsys.readouterr()
    assert condition in told.err
    assert f'"{condition}"' in told.out
