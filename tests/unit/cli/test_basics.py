"""The command line without a pipeline: init, explain, errors, exit codes, what goes to which stream."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from penstock.cli.lazy_command import Command
from penstock.cli.main import app
from penstock.cli.options import names, settings
from penstock.cli.screen.console import clean, print_json
from penstock.cli.screen.failures import report_failure, write_report
from penstock.cli.screen.quiet_stdout import only_results_on_stdout
from penstock.cli.screen.rows import print_rows
from penstock.cli.stopping import StopNow, StopRequests
from penstock.config import load_project
from penstock.errors import (
    ConfigError,
    DataError,
    DefinitionError,
    PenstockError,
    PipelineInvalid,
    StateError,
    conditions,
)
from penstock.events import EventLog, EventType, read_events

runner = CliRunner()


def failing(error: Exception) -> typer.Typer:
    """A command of its own that ends with `error`."""
    small = typer.Typer()

    @small.callback()
    def root() -> None:
        """Nothing."""

    @small.command(cls=Command)
    def fail(as_json: bool = typer.Option(False, "--json")) -> None:
        raise error

    return small


# --- init -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["orders", "my shop", "ümlaut", "yes", "7 up", 'a "quoted" one', "deep/er"])
def test_init_writes_a_project_whose_file_can_be_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.config import load_project

    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["init", name])
    assert result.exit_code == 0, result.stderr
    config = load_project(tmp_path / name)
    assert config.name == Path(name).name
    assert [file.name for file in config.source_files()] == ["orders.py"]
    assert len(list((tmp_path / name / "data/orders").glob("orders-*.json"))) == 20
    assert not list((tmp_path / name).rglob("__pycache__"))


def test_init_accepts_an_empty_folder(tmp_path: Path) -> None:
    assert runner.invoke(app, ["init", str(tmp_path)]).exit_code == 0


def test_init_refuses_a_folder_with_something_in_it_and_leaves_it_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    result = runner.invoke(app, ["init", str(tmp_path)])
    assert result.exit_code == 2
    assert "PROJECT_FOLDER_NOT_EMPTY" in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_init_below_a_file_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = runner.invoke(app, ["init", str(tmp_path / "file" / "project")])
    assert result.exit_code == 2
    assert "PROJECT_FOLDER_NOT_WRITABLE" in result.stderr


def test_the_teaching_example_is_short_and_commented() -> None:
    template = Path(__file__).parents[3] / "src/penstock/cli/templates/orders/transformations/orders.py"
    lines = template.read_text().splitlines()
    assert len(lines) <= 60
    assert sum(line.lstrip().startswith("#") for line in lines) >= 5


# --- explain ----------------------------------------------------------------


@pytest.mark.parametrize("spelling", ["TABLE_NOT_FOUND", "table-not-found", "[TABLE_NOT_FOUND]"])
def test_explain_knows_a_condition_by_any_spelling(spelling: str) -> None:
    document = json.loads(runner.invoke(app, ["explain", spelling, "--json"]).stdout)
    assert document["condition"] == "TABLE_NOT_FOUND"
    assert document["fix"] == conditions()["TABLE_NOT_FOUND"].fix


def test_explain_lists_all_of_them() -> None:
    document = json.loads(runner.invoke(app, ["explain", "--json"]).stdout)
    assert {one["condition"] for one in document} == set(conditions())
    assert "TABLE_NOT_FOUND" in runner.invoke(app, ["explain"]).stdout


def test_explain_of_an_unknown_name_proposes_a_known_one() -> None:
    result = runner.invoke(app, ["explain", "TABLE_NOT_FOND", "--json"])
    assert result.exit_code == 2
    [error] = json.loads(result.stdout)["errors"]
    assert error["condition"] == "UNKNOWN_CONDITION"
    assert "TABLE_NOT_FOUND" in error["fix"]


# --- usage ------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["statsu"],
        ["status", "--jsn"],
        ["show"],
        ["show", "t", "--limit", "x"],
        ["events", "--level", "loud"],
        ["init"],
        [],
    ],
)
def test_wrong_usage_ends_with_2_and_leaves_stdout_empty(words: list[str]) -> None:
    result = runner.invoke(app, words)
    assert result.exit_code == 2
    assert result.stdout == "" or not words  # `penstock` alone is a question for help, which is an answer


def test_a_mistyped_command_is_recognised() -> None:
    assert "'status'" in runner.invoke(app, ["statsu"]).stderr


def test_version_is_printed() -> None:
    assert runner.invoke(app, ["--version"]).stdout.startswith("penstock ")


@pytest.mark.parametrize("text", ["novalue", "=x", " =x"])
def test_a_setting_without_key_or_value_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings([text])
    assert caught.value.condition == "INVALID_SETTING"
    assert caught.value.facts["setting"] == text


def test_settings_keep_later_equals_signs_and_the_last_value_wins() -> None:
    assert settings(["a=1", "b=x=y", "a=2", "c="]) == {"a": "2", "b": "x=y", "c": ""}


def test_names_are_split_at_commas_outside_backquotes() -> None:
    assert names(["a, b", "`c,d`", ""]) == ("a", "b", "`c,d`")


# --- how an error leaves ----------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DataError("TABLE_NOT_FOUND", name="t", storage="s", hint=""), 1),
        (ConfigError("TABLE_NOT_FOUND", name="t", storage="s", hint=""), 2),
        (DefinitionError("INVALID_DATASET_NAME", name="a..b"), 2),
        (StateError("TABLE_VERSION_NOT_FOUND", name="t", version=9, newest=1), 3),
    ],
)
def test_the_class_of_an_error_decides_the_exit_code(error: PenstockError, code: int) -> None:
    result = runner.invoke(failing(error), ["fail"])
    assert result.exit_code == code
    assert error.condition in result.stderr
    assert "Fix:" in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_with_json_all_errors_are_one_document() -> None:
    both = PipelineInvalid([DefinitionError("INVALID_DATASET_NAME", name=name) for name in ("a..b", "c..d")])
    result = runner.invoke(failing(both), ["fail", "--json"])
    assert result.exit_code == 2
    assert len(json.loads(result.stdout)["errors"]) == 2


def test_a_bug_becomes_a_report_with_the_whole_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = runner.invoke(failing(RuntimeError("the sky fell")), ["fail", "--json"])
    assert result.exit_code == 1
    assert "Traceback" not in result.stderr
    [error] = json.loads(result.stdout)["errors"]
    assert error["condition"] == "INTERNAL_ERROR"
    [report] = tmp_path.iterdir()
    assert str(report) in error["fix"]
    assert "RuntimeError: the sky fell" in report.read_text()
    assert "Traceback" in report.read_text()
    assert stat.S_IMODE(report.stat().st_mode) == 0o600


def test_a_report_names_settings_without_their_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["penstock", "run", "--set", "token=hunter2"])
    text = write_report(ValueError("x")).read_text()
    assert "token=" in text
    assert "hunter2" not in text


def test_what_a_crash_leaves_holds_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "penstock.yml").write_text("name: orders\nsecrets: {key: '${env:KEY}', none: '${env:NONE}'}\n")
    config = load_project(tmp_path, environ={"KEY": "canary-s3cret"})
    report_failure(ValueError("canary-s3cret is refused"), as_json=True, debug=True)
    said = capsys.readouterr()
    (report,) = tmp_path.glob("penstock-report-*")
    for text in (said.out, said.err, report.read_text()):
        assert "*** is refused" in text
        assert "canary" not in text
    assert config.secrets["key"].resolve() == "canary-s3cret"


@pytest.mark.parametrize("words", [["fail", "--debug"], ["--", "fail", "--debug"]])
def test_debug_adds_the_stack_trace(words: list[str]) -> None:
    assert "Traceback" in runner.invoke(failing(ConfigError("UNKNOWN_CONDITION", name="x", hint="")), words).stderr


def test_debug_can_be_set_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_DEBUG", "1")
    assert "Traceback" in runner.invoke(failing(ValueError("x")), ["fail"]).stderr


def test_an_error_text_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    report_failure(ConfigError("UNKNOWN_CONDITION", name="\x1b[2Jx\r\x07", hint=""), as_json=False, debug=False)
    assert not set(capsys.readouterr().err) & set("\x1b\r\x07")


# --- streams ----------------------------------------------------------------


def test_control_characters_and_direction_overrides_are_removed() -> None:
    assert clean("a\x1b[31mb\x00c\u202ed\u200be\nf") == "ab cde f"
    assert clean("a\n  b\x1b[2J\tc", multiline=True) == "a\n  b c"


def test_json_knows_the_types_of_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    from datetime import UTC, date, datetime, timedelta

    print_json(
        [datetime(2026, 1, 1, tzinfo=UTC), date(2026, 1, 2), Decimal("1.20"), b"\x00\xff", timedelta(seconds=3), {1}]
    )
    out = capsys.readouterr().out
    assert json.loads(out) == ["2026-01-01T00:00:00+00:00", "2026-01-02", "1.20", "AP8=", 3.0, [1]]


def test_rows_that_json_cannot_spell_are_spelt(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(["x", "x"], [(float("nan"), float("inf"))], as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"x": "NaN", "x_2": "Infinity"}]
    print_rows(["text", "map"], [("\ud800\0", {(1, None): 1.5})], as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"text": "\ud800\0", "map": [[[1, None], 1.5]]}]
    print_rows(["n"], [(float("-inf"),), (Decimal("0E-18"),)], as_json=False)
    assert capsys.readouterr().out.split()[-2:] == ["-Infinity", "0.000000000000000000"]


def test_rows_are_shown_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(["name", "n"], [("[red]\x1b[1m", 1.5), (None, True)], as_json=False)
    out = capsys.readouterr().out
    assert "[red]" in out
    assert "NULL" in out
    assert "\x1b" not in out


def test_prints_of_a_pipeline_and_of_its_children_do_not_reach_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    with only_results_on_stdout():
        print("from a pipeline file")
        subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
    print("the result")
    captured = capfd.readouterr()
    assert captured.out == "the result\n"
    assert "from a pipeline file" in captured.err
    assert "from a child" in captured.err


# --- signals ----------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_asks_and_the_second_insists(number: signal.Signals, code: int) -> None:
    said: list[str] = []
    before = signal.getsignal(number)

    def twice() -> None:
        with StopRequests(said.append) as requests:
            os.kill(os.getpid(), number)
            assert requests.stop.wait(1)
            assert len(said) == 1
            os.kill(os.getpid(), number)
            threading.Event().wait(1)

    with pytest.raises(StopNow) as caught:
        twice()
    assert caught.value.exit_code == code
    assert signal.getsignal(number) == before


def test_without_a_signal_nothing_is_asked() -> None:
    said: list[Any] = []
    with StopRequests(said.append) as requests:
        pass
    assert not requests.stop.is_set()
    assert not said


@pytest.mark.parametrize(("number", "through"), [(signal.SIGINT, "command line"), (signal.SIGTERM, "signal")])
def test_a_signal_is_an_action_in_the_log(number: signal.Signals, through: str, tmp_path: Path) -> None:
    storage = str(tmp_path)
    with (
        StopRequests(lambda _: None) as requests,
        EventLog.open(storage, pipeline_name="p", update_id="u") as log,
        requests.noted_in(log),
    ):
        os.kill(os.getpid(), number)
        assert requests.stop.wait(1)
    (action,) = read_events(storage, types={EventType.USER_ACTION})
    told = action.details["user_action"]
    assert (told["action"], told["through"], told["arguments"]) == ("STOP", through, {"signal": number.name})
    assert (told["user_name"] is None) == (number is signal.SIGTERM)


def test_a_run_that_nobody_stops_has_no_such_action(tmp_path: Path) -> None:
    with (
        StopRequests(lambda _: None) as requests,
        EventLog.open(str(tmp_path), pipeline_name="p", update_id="u") as log,
        requests.noted_in(log),
    ):
        pass
    assert not list(read_events(str(tmp_path)))
