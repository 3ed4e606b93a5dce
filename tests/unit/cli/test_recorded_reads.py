"""Whatever shows rows records who sees them, before it shows them; `penstock audit` lists that."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.repo.documents import ROOT
from tests.unit.cli.test_quarantine import _SCHEMA, ROWS
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.events.log.audit import Actor
from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout

ORDERS = Identifier("shop", "orders")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\n")
    layout = StorageLayout(str(tmp_path / ".penstock"))
    write_deltalake(layout.table(ORDERS), pa.table({"id": [1, 2, 3]}))
    quarantine = layout.table(Identifier("shop", "orders__quarantine"))
    write_deltalake(quarantine, pa.Table.from_pylist(ROWS, schema=_SCHEMA))
    return tmp_path


def ask(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output
    return result


def reads(project: Path, *more: str) -> list[dict[str, Any]]:
    return list(json.loads(ask("audit", str(project), *more, "--json").stdout)["reads"])


def test_show_and_quarantine_show_are_recorded(project: Path) -> None:
    ask("show", "orders", str(project), "--limit", "2", "--sort", "id", "--version", "0")
    ask("quarantine", "show", "orders", str(project))
    first, second = reads(project)
    asked = {"limit": 2, "sort": "id", "version": 0}
    assert first["arguments"] == {"command": "show", "tables": ["shop.orders"], "rows": 2, **asked}
    assert (first["user_name"], first["through"]) == (Actor.of_process().user, "command line")
    assert second["arguments"]["tables"] == ["shop.orders__quarantine"]
    assert (second["arguments"]["command"], second["arguments"]["rows"]) == ("quarantine show", 3)
    text = ask("audit", str(project)).stdout
    assert "0 actions and 2 reads, none changed" in text
    assert "read 2 rows: show" in text


def test_rows_are_recorded_before_they_are_shown(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("penstock.cli.commands.tables.show.print_rows", killed)
    CliRunner().invoke(app, ["show", "orders", str(project)])
    assert [each["arguments"]["rows"] for each in reads(project)] == [3]


def test_without_a_place_for_the_record_a_read_says_so_and_goes_on(project: Path) -> None:
    (project / ".penstock" / "reads").write_text("")
    result = ask("show", "orders", str(project), "--json")
    assert len(json.loads(result.stdout)) == 3
    assert "This read is not recorded" in result.stderr
    assert result.stderr.count("not recorded") == 1


def test_a_required_record_refuses_the_read(project: Path) -> None:
    (project / "penstock.yml").write_text("name: orders\nschema: shop\naudit: {on_failure: fail}\n")
    (project / ".penstock" / "reads").write_text("")
    result = ask("show", "orders", str(project), "--json", code=3)
    assert "READ_NOT_RECORDED" in result.output
    assert '"id"' not in result.stdout


def test_reads_can_be_switched_off(project: Path) -> None:
    (project / "penstock.yml").write_text("name: orders\nschema: shop\naudit: {reads: false}\n")
    ask("show", "orders", str(project))
    assert reads(project) == []
    assert not (project / ".penstock" / "reads").exists()


def test_another_value_of_on_failure_is_refused(project: Path) -> None:
    (project / "penstock.yml").write_text("name: orders\naudit: {on_failure: stop}\n")
    assert "CONFIG_INVALID_VALUE" in ask("show", "orders", str(project), code=2).output


def test_what_to_list(project: Path) -> None:
    ask("show", "orders", str(project))
    ask("quarantine", "show", "orders", str(project))
    user = Actor.of_process().user or ""
    assert len(reads(project, "--user", user.partition(" ")[0], "--since", "2020-01-01")) == 2
    assert reads(project, "--user", "mallory") == []
    assert reads(project, "--since", "2999-01-01") == []
    assert [each["arguments"]["command"] for each in reads(project, "--table", "orders")] == ["show"]
    assert len(reads(project, "--table", "shop.orders__quarantine", "--only", "reads")) == 1
    assert reads(project, "--only", "actions") == []
    assert "2 reads" in ask("audit", str(project), "--only", "actions").stdout, "the whole record is checked"


def test_a_read_that_is_gone_is_noticed_by_its_hash(project: Path) -> None:
    ask("show", "orders", str(project))
    ask("show", "orders", str(project))
    kept = json.loads(ask("audit", str(project), "--json").stdout)["hash_of_reads"]
    ask("audit", str(project), "--expect", kept)
    record = project / ".penstock" / "reads" / "000001.jsonl"
    record.write_text(record.read_text().splitlines(keepends=True)[0])
    assert "AUDIT_CHAIN_BROKEN" in ask("audit", str(project), "--expect", kept, code=3).output


def test_a_changed_read_is_told(project: Path) -> None:
    ask("show", "orders", str(project))
    record = project / ".penstock" / "reads" / "000001.jsonl"
    record.write_text(record.read_text().replace(r"\"rows\":3", r"\"rows\":1"))
    result = ask("audit", str(project), code=3)
    assert "was changed after it was written" in result.stdout
    assert "the read with sequence 0" in " ".join(result.stderr.split())


def test_reads_do_not_hold_up_a_run(project: Path) -> None:
    """They need no lock: whoever holds it, for a run, writes the event log and not the record of reads."""
    from penstock.storage import StorageLock
    from penstock.storage.lock import LockOwner

    with StorageLock(str(project / ".penstock"), LockOwner.current("penstock run")):
        ask("show", "orders", str(project))
    assert len(reads(project)) == 1
    moment = datetime.fromisoformat(reads(project)[0]["timestamp"])
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 60


def test_whatever_prints_rows_records_that() -> None:
    files = (ROOT / "src/penstock/cli/commands").rglob("*.py")
    prints = {each.name: each.read_text(encoding="utf-8") for each in files}
    showing = {name for name, text in prints.items() if "print_rows(" in text or "different_rows(" in text}
    assert {"show.py", "sql.py", "state.py", "late.py", "quarantine.py", "replay_batch.py", "compare.py"} == showing
    assert {name for name in showing if "record_read(config" not in prints[name]} == set()
