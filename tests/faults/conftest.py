"""What the JVMs get that these tests start and kill, and the one session of those that run in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from tests.faults.failing_storage import Switches
from tests.faults.table import print_table
from tests.short_lived_jvms import start_them_quickly
from tests.spark.session_settings import CHOSEN

from penstock.spark.session.launch import SessionConfig
from penstock.spark.session.session import start_session, stop_session

start_them_quickly()


@pytest.fixture(scope="session")
def switches(tmp_path_factory: pytest.TempPathFactory) -> Switches:
    """Lets the storage fail for what runs on the session."""
    return Switches(tmp_path_factory.mktemp("switches"))


@pytest.fixture(scope="session")
def spark(switches: Switches) -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in switches.environment().items():
            patch.setenv(name, value)
        started = start_session(SessionConfig(name="faults", master="local[2]", spark_conf=CHOSEN))
    yield started
    stop_session(started)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Ends the run with a table: which faults were tried, how often, and what was found."""
    print_table(terminalreporter.stats, terminalreporter.write_line)
