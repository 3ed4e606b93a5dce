"""What py4j is asked once and what again: counted on the wire, because the answers look alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from py4j.clientserver import ClientServerConnection
from py4j.java_gateway import JavaPackage
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

pytestmark = pytest.mark.accelerated


@contextmanager
def _questions(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yields the lookups (`r` commands) sent to the JVM inside the block."""
    asked: list[str] = []
    send = ClientServerConnection.send_command

    def recorded(connection: Any, command: str) -> Any:
        if command.startswith("r\n"):
            asked.append(command)
        return send(connection, command)

    with monkeypatch.context() as patch:
        patch.setattr(ClientServerConnection, "send_command", recorded)
        yield asked


def test_a_name_is_looked_up_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    f.abs(f.lit(1))
    with _questions(monkeypatch) as asked:
        f.abs(f.lit(2))
    assert asked == []


def test_static_fields_and_unknown_names_are_asked_again(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    java: Any = spark._jvm
    field = java.java.io.File
    with _questions(monkeypatch) as asked:
        assert field.separator == field.separator
        assert isinstance(java.com.example.NotYetThere, JavaPackage)
        assert isinstance(java.com.example.NotYetThere, JavaPackage)
        with pytest.raises(Py4JError):
            getattr(field, "noSuchMember")  # noqa: B009 - asks the JVM
    told = [question.split("\n")[2] for question in asked]
    assert sum("java.io.File" in name for name in told) == 3
    assert told.count("com.example.NotYetThere") == 2
