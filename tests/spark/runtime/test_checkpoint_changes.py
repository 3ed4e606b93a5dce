"""Checkpoints that were put back, taken away or half replaced, and what the next run makes of them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.spark.pipeline_project import PipelineProject
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.storage import StorageLayout

CODE = """
@dlt.table
def orders():
    return spark.readStream.schema("id LONG").json("in")

@dlt.table
def counts():
    return dlt.read_stream("orders").groupBy("id").count()
"""


class Died(BaseException):
    """The process was killed."""


def ask(project: PipelineProject, *words: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, ["checkpoint", *words, "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def test_backup_loss_restore_and_reset(project: PipelineProject, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(project.directory)
    monday, tuesday = (str(project.directory / name) for name in ("monday", "tuesday"))
    checkpoints = Path(StorageLayout(project.config.storage).uri, "checkpoints")
    project.write(CODE)
    project.arrive("1", [{"id": 1}])
    assert project.run().errors == ()
    ask(project, "backup", monday, folder)
    project.arrive("2", [{"id": 2}])
    assert project.run().errors == ()
    [error] = ask(project, "restore", monday, folder, "--yes", code=3)["errors"]
    assert error["condition"] == "CHECKPOINT_RESTORE_REPEATS_BATCHES"

    # Everything is lost; the process that puts it back dies when the second one is neither here nor there.
    ask(project, "backup", tuesday, folder)
    shutil.rmtree(checkpoints / "shop/counts")
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", _die_after(2, os.rename))
        with pytest.raises(Died):
            CliRunner().invoke(app, ["checkpoint", "restore", tuesday, folder, "--yes"])
    assert not (checkpoints / "shop/orders/orders/0").exists()
    project.arrive("3", [{"id": 3}])
    assert project.run().errors == ()
    assert project.rows("orders", "id") == [1, 2, 3]
    assert project.rows("counts", "id", "count") == [(1, 1), (2, 1), (3, 1)]
    assert ask(project, "verify", folder)["findings"] == []

    # An old checkpoint under a table that went on: its later rows come twice, none is taken for one that is there.
    [restored] = ask(project, "restore", monday, folder, "--flow", "orders", "--force", "--yes")["restored"]
    assert restored["writes_again"]
    assert ask(project, "verify", folder)["findings"] == []
    assert project.run().errors == ()
    assert project.rows("orders", "id") == [1, 2, 2, 3, 3]
    assert project.rows("counts", "id", "count") == [(1, 1), (2, 2), (3, 2)]

    ask(project, "reset", "orders", folder, "--yes")
    assert project.run(refresh=("orders",)).errors == ()
    assert project.rows("orders", "id") == [1, 1, 2, 2, 2, 3, 3, 3]
    assert ask(project, "verify", folder)["findings"] == []


def _die_after(calls: int, rename: Any) -> Any:
    left = [None] * calls

    def called(old: str, new: str) -> None:
        if not left:
            raise Died
        left.pop()
        rename(old, new)

    return called
