"""What every test gets: reproducible examples, and none of the developer's own settings. In CI, where the time went."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow  # noqa: F401 - whole: the command for DuckDB would import it without numpy for all tests behind it
import pytest
from hypothesis import HealthCheck, settings
from tests import cli_runner
from tests.shared_commands import SharedCommands

settings.register_profile(
    "penstock", deadline=None, derandomize=bool(os.environ.get("CI")), suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("penstock")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets programs in the background ignore Ctrl-C, and so would the programs under test.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The cache of jars is shared with the developer on purpose: a test run must not download 23 MB each time.
_KEPT = {
    "PENSTOCK_ACCELERATORS",
    "PENSTOCK_CACHE",
    "PENSTOCK_CLASS_ARCHIVE",
    "PENSTOCK_MAVEN_MIRROR",
    "PENSTOCK_REFRESHES",
}


@pytest.fixture(autouse=True)
def _no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("PENSTOCK_") and name not in _KEPT:
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def shared_commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedCommands]:
    """A process for the commands of all tests that need none of their own; it starts with the first of them."""
    commands = SharedCommands(tmp_path_factory.mktemp("commands"))
    yield commands
    commands.stop()


@pytest.fixture(scope="module")
def one_process(shared_commands: SharedCommands) -> Iterator[None]:
    """Has the commands that a module's tests run to their end share a process, and its session of Spark."""
    programs = shared_commands.started().programs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli_runner, "COMMAND", (str(programs / "penstock"),))
        path = [str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]
        patch.setenv("PATH", os.pathsep.join(path))
        yield


_SLOWEST_FILES = 40


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """In CI, prints the seconds of the slowest files, and the processor time of this process and its children."""
    if not os.environ.get("CI"):
        return
    seconds: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports(""):
        seconds[report.nodeid.partition("::")[0]] += report.duration
    used = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    processor = sum(each.ru_utime + each.ru_stime for each in used)
    terminalreporter.section(f"slowest files; {processor:.0f} s of processor time")
    for file, taken in seconds.most_common(_SLOWEST_FILES):
        terminalreporter.write_line(f"{taken:8.1f} s  {file}")
