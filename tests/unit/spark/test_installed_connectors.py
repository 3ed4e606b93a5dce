"""Connectors of other packages: found by name, loaded when they are named, and never with a stack trace."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from penstock.errors import ConfigError, SourceLocation
from penstock.graph.elements import UnresolvedFlow
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedFlow
from penstock.graph.schema.table_schema import Schema
from penstock.runtime.flows.failures import sink_failure
from penstock.spark.failures.python_sources import ConnectorError, parse_failure
from penstock.spark.sinks.formats import code_of, sink_of
from penstock.spark.sources.formats import known_formats, source_of
from penstock.spark.sources.installed import installed
from penstock.spark.sources.spark_sources import SparkSource
from penstock.spark.streams.writes import BatchFailure

_GOOD = """
from penstock.connectors import Connector, Option, Promise

class Source:
    options = (Option("x"),)
    replayable = True
    def stream(self, read): ...

class Sink:
    options = ()
    promise = Promise.AT_LEAST_ONCE
    takes_updates = False
    def open(self, target): ...
"""
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    installed.cache_clear()
    return tmp_path


def _install(site: Path, code: str, name: str = "toy", package: str = "penstock-toy") -> str:
    module = f"toy_connector_{next(_numbers)}"
    (site / f"{module}.py").write_text(code, encoding="utf-8")
    described = site / f"{package.replace('-', '_')}-1.2.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {package}\nVersion: 1.2\n", encoding="utf-8")
    (described / "entry_points.txt").write_text(f"[penstock.connectors]\n{name} = {module}:C\n", encoding="utf-8")
    return module


def test_a_connector_is_loaded_when_its_format_is_named(site: Path) -> None:
    module = _install(site, f"{_GOOD}\nC = Connector(source=Source(), sink=Sink())", name="Toy")
    for known in ("kafka", "json", "cloudFiles", "rate", "no_such_format"):
        source_of(known)
    assert module not in sys.modules
    assert source_of("TOY").replayable
    assert module in sys.modules
    assert source_of("toy").options == sys.modules[module].C.source.options
    assert sink_of("toy") is sys.modules[module].C.sink
    assert code_of("toy") == "the connector of the package penstock-toy 1.2"
    assert "Toy" in known_formats()


def test_half_a_connector_leaves_the_other_half_to_spark(site: Path) -> None:
    _install(site, f"{_GOOD}\nC = Connector(sink=Sink())")
    assert isinstance(source_of("toy"), SparkSource)
    assert code_of("kafka") is None


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import no_such_module", "cannot be loaded (ModuleNotFoundError: No module named 'no_such_module')"),
        ("1 / 0", "cannot be loaded (ZeroDivisionError: division by zero)"),
        ("D = 1", "cannot be loaded (AttributeError"),
        ("C = 1", "names a int"),
        ("from penstock.connectors import Connector\nC = Connector()", "neither a source nor a sink"),
        ("from penstock.connectors import Connector\nC = Connector(source=1)", "source has no options, replayable"),
        (f"{_GOOD}\nSink.promise = 'once'\nC = Connector(sink=Sink())", "no penstock.connectors.Promise"),
        (f"{_GOOD}\nSource.options = ('x',)\nC = Connector(source=Source())", "no penstock.connectors.Option"),
    ],
)
def test_a_broken_one_is_told_with_its_package(site: Path, code: str, reason: str) -> None:
    _install(site, code)
    for _ in range(2):
        with pytest.raises(ConfigError) as broken:
            source_of("toy")
        assert broken.value.condition == "CONNECTOR_UNUSABLE"
        assert reason in broken.value.message
        assert "penstock-toy 1.2" in broken.value.message
        assert "pip install --upgrade penstock-toy'" in broken.value.fix


def test_two_packages_with_one_format(site: Path) -> None:
    _install(site, f"{_GOOD}\nC = Connector(sink=Sink())")
    _install(site, f"{_GOOD}\nC = Connector(sink=Sink())", package="penstock-rival")
    with pytest.raises(ConfigError) as twice:
        sink_of("toy")
    assert "penstock-toy 1.2" in twice.value.message
    assert "penstock-rival 1.2" in twice.value.message


def test_without_its_own_metadata_a_format_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_found(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("penstock.spark.sources.installed.distribution", not_found)
    for look in (source_of, sink_of):
        with pytest.raises(ConfigError) as copied:
            look("kafka")
        assert copied.value.condition == "CONNECTOR_UNUSABLE"
        assert "metadata is missing" in copied.value.message
    assert source_of("json").replayable


def test_a_worker_that_reads_kinesis_loads_nothing_of_the_driver() -> None:
    code = "import sys, penstock.connectors.kinesis.stream_reader\nprint('penstock.spark.sinks.sink' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"False\n"


def test_penstocks_own_formats_cannot_be_taken(site: Path) -> None:
    module = _install(site, "1 / 0", name="kafka")
    source_of("kafka")
    sink_of("kafka")
    assert module not in sys.modules


@pytest.mark.parametrize(("retry", "condition"), [(True, "CONNECTOR_INTERRUPTED"), (False, "CONNECTOR_FAILED")])
def test_what_a_connector_says_survives_a_process_of_sparks(retry: bool, condition: str) -> None:
    error = ConnectorError("the tap is closed", fix="Open it", retry=retry)
    told = parse_failure(["no more", f"Traceback (most recent call last): {error!s} at line 7"])
    assert told is not None
    known = told.error(dataset="shop.orders")
    assert (known.condition, known.retryable) == (condition, retry)
    assert known.message.endswith("the tap is closed")
    assert known.fix == "Open it."
    assert isinstance(pickle.loads(pickle.dumps(error)), type(told))


@pytest.mark.parametrize(
    ("raised", "condition"),
    [(KeyError("x"), "CONNECTOR_FAILED"), (RuntimeError("closed"), "CONNECTOR_INTERRUPTED")],
)
def test_what_a_sink_raises_is_told_with_its_package(raised: Exception, condition: str) -> None:
    flow = UnresolvedFlow(
        name="out", target=Identifier("shop", "out"), function=lambda: None, location=SourceLocation("p.py", 1)
    )
    resolved = ResolvedFlow(flow, FlowType.APPEND, Schema("{}"), True, ())
    known = sink_failure(BatchFailure(3, raised), resolved, Path(), "the connector of the package penstock-toy 1.2")
    assert known.condition == condition
    assert known.exit_code == 1
    assert known.message.startswith("The connector of the package penstock-toy 1.2 ")
    assert f"batch 3: {type(raised).__name__}" in known.message
