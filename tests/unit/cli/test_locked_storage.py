"""Commands that write are refused while a run works, before Spark is started."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.graph.companions.quarantine import quarantine_path
from penstock.graph.identifier import Identifier
from penstock.spark.session import launch
from penstock.storage import LockOwner, StorageLayout, StorageLock


@pytest.mark.parametrize(
    "command", [["run"], ["optimize"], ["vacuum"], ["quarantine", "replay", "orders"]], ids=lambda words: words[0]
)
def test_no_spark_is_started_for_a_command_that_the_lock_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\n")
    (tmp_path / "orders.py").write_text("import dlt\n\n@dlt.table\ndef orders():\n    return spark.range(1)\n")
    table = StorageLayout(str(tmp_path / ".penstock")).table(Identifier("shop", "orders"))
    for path in (table, quarantine_path(table)):
        write_deltalake(path, pa.table({"id": [1]}))
    monkeypatch.chdir(tmp_path)
    launched: list[object] = []
    monkeypatch.setattr(launch, "launch_ahead", lambda *given, **_: launched.append(given))
    with StorageLock(str(tmp_path / ".penstock"), LockOwner.current()):
        done = CliRunner().invoke(app, command)
    assert (done.exit_code, "STORAGE_LOCKED" in done.stderr, launched) == (3, True, []), done.output
