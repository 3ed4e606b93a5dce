"""Everything that can be wrong before a row is read: each is named, ends with its exit code, and touches no table."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli_runner import own_process, penstock, running
from tests.projects import OrdersProject, one_file_a_batch, orders_project

pytestmark = [pytest.mark.timeout(1200), pytest.mark.usefixtures("one_process")]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> OrdersProject:
    """A project whose tables are complete."""
    project = orders_project(tmp_path_factory.mktemp("bad") / "orders", files=3)
    penstock("run", project.directory).expect(0)
    project.assert_tables()
    return project


@pytest.fixture
def project(finished: OrdersProject, tmp_path: Path) -> Iterator[OrdersProject]:
    """The finished project, to be spoilt: its files are restored afterwards, and its tables must be untouched."""
    saved = (finished.settings, finished.pipeline)
    for file in saved:
        shutil.copy(file, tmp_path / file.name)
    versions = finished.versions()
    yield finished
    for file in saved:
        shutil.copy(tmp_path / file.name, file)
    assert finished.versions() == versions
    finished.assert_tables()


def _line_of(file: Path, text: str) -> int:
    return next(number for number, line in enumerate(file.read_text().splitlines(), 1) if text in line)


@pytest.mark.parametrize("command", [pytest.param("run", marks=pytest.mark.slow), "validate", "status"])
def test_an_unknown_key(project: OrdersProject, command: str) -> None:
    project.add_settings("storge: elsewhere")
    outcome = penstock(command, project.directory, "--json").expect(2)
    error = outcome.error("CONFIG_UNKNOWN_KEY")
    assert "storge" in error["message"]
    assert "'storage'" in error["fix"]
    assert Path(error["file"]).name == "penstock.yml"
    assert error["line"] == _line_of(project.settings, "storge")
    assert "Traceback" not in outcome.stderr


def test_a_value_of_the_wrong_type(project: OrdersProject) -> None:
    project.add_settings("continuous: sometimes")
    error = penstock("run", project.directory, "--json").expect(2).error("CONFIG_WRONG_TYPE")
    assert "continuous" in error["message"]
    assert error["line"] == _line_of(project.settings, "continuous")


def test_a_pipeline_file_that_is_no_text(project: OrdersProject) -> None:
    project.settings.write_bytes(b"name: orders\nschema: \xff\xfe\n")
    error = penstock("run", project.directory, "--json").expect(2).error("CONFIG_UNREADABLE")
    assert "penstock.yml" in error["message"]


def test_a_source_file_that_is_no_text(project: OrdersProject) -> None:
    project.pipeline.write_bytes(b"NAME = '\xff\xfe'\n")
    error = penstock("run", project.directory, "--json").expect(2).error("PIPELINE_FILE_UNREADABLE")
    assert Path(error["file"]).name == "orders.py"


def test_a_syntax_error(project: OrdersProject) -> None:
    project.edit(project.pipeline, "def silver_orders():", "def silver_orders(:")
    error = penstock("run", project.directory, "--json").expect(2).error("SYNTAX_ERROR_IN_PIPELINE_FILE")
    assert Path(error["file"]).name == "orders.py"
    assert error["line"] == _line_of(project.pipeline, "def silver_orders(:")


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    error = penstock("run", tmp_path / "nowhere", "--json").expect(2).error("PIPELINE_NOT_FOUND")
    assert "nowhere" in error["message"]


def test_typos_in_an_expectation_and_in_a_name_are_told_together(project: OrdersProject) -> None:
    project.edit(project.pipeline, '"amount > 0"', '"amout > 0"')
    project.edit(project.pipeline, 'ps.read("silver_orders")', 'ps.read("silver_order")')
    outcome = penstock("run", project.directory, "--json").expect(2)
    rule = outcome.error("EXPECTATION_NOT_RESOLVED")
    assert "positive_amount" in rule["message"]
    assert "amout" in rule["message"]
    assert rule["dataset"].endswith("silver_orders")
    assert Path(rule["file"]).name == "orders.py"
    name = outcome.error("TABLE_OR_VIEW_NOT_FOUND")
    assert "silver_orders" in name["message"]


def test_an_input_folder_that_does_not_exist(project: OrdersProject) -> None:
    outcome = penstock("run", project.directory, "--json", "--set", "source=./data/oders")
    error = outcome.error("PATH_NOT_FOUND")
    assert "oders" in error["message"]
    assert error["dataset"].endswith("bronze_orders")
    outcome.expect(2)


def test_a_storage_that_cannot_be_written(project: OrdersProject, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    where = tmp_path / "file" / "storage"
    outcome = penstock("run", project.directory, "--json", "--storage", where)
    assert str(where) in outcome.error("STORAGE_NOT_WRITABLE")["message"]
    outcome.expect(2)


def test_a_java_that_is_too_old(project: OrdersProject, tmp_path: Path) -> None:
    home = tmp_path / "jdk-11"
    (home / "bin").mkdir(parents=True)
    (home / "release").write_text('JAVA_VERSION="11.0.2"\n')
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    (home / "bin" / "java").chmod(0o755)
    outcome = own_process("run", project.directory, "--json", environ={"JAVA_HOME": str(home)}).expect(2)
    error = outcome.error("JAVA_TOO_OLD")
    assert "11.0.2" in error["message"]
    assert str(home) in error["message"]


def test_a_java_home_without_java(project: OrdersProject, tmp_path: Path) -> None:
    outcome = own_process("run", project.directory, "--json", environ={"JAVA_HOME": str(tmp_path)}).expect(2)
    assert str(tmp_path) in outcome.error("JAVA_HOME_INVALID")["message"]


def test_a_second_run_is_refused_at_once_and_the_first_goes_on(tmp_path: Path) -> None:
    project = orders_project(tmp_path / "orders", files=4)
    one_file_a_batch(project)
    with running("run", project.directory) as first:
        first.wait_for((project.storage / "tables").exists, what="the first table")
        second = penstock("run", project.directory, "--json").expect(3)
        message = second.error("STORAGE_LOCKED")["message"]
        assert str(first.pid) in message
        assert platform.node() in message
        first.wait().expect(0)
    project.assert_tables()
