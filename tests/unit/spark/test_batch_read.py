"""With which options a batch reads what a stream would read."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import DefinitionError
from penstock.spark.sources.delta import delta_options
from penstock.spark.sources.formats import source_of
from penstock.spark.sources.source import SourceRead, read_batch


class _Reader:
    """Notes what a reader is asked for; answers with it."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}

    def format(self, name: str) -> _Reader:
        self.asked["format"] = name
        return self

    def options(self, **options: str) -> _Reader:
        self.asked["options"] = options
        return self

    def schema(self, schema: str) -> _Reader:
        self.asked["schema"] = schema
        return self

    def load(self, path: str | None = None) -> dict[str, Any]:
        return self.asked | {"path": path}


class _Session:
    read = property(lambda _: _Reader())


def _read(source_format: str, path: str | None = None, **options: str) -> Any:
    session: Any = _Session()
    read = SourceRead(
        format=source_format, options=options, path=path, spark=session, load=lambda *_: session, description="it"
    )
    return read_batch(source_of(source_format), read)


@pytest.mark.parametrize("given", [{}, {"startingOffsets": "latest"}, {"STARTINGOFFSETS": " Latest"}])
def test_a_topic_is_read_from_its_beginning(given: dict[str, str]) -> None:
    assert _read("kafka", subscribe="t", **given)["options"] == {"subscribe": "t", "startingOffsets": "earliest"}


@pytest.mark.parametrize("given", [{"startingOffsets": '{"t": {"0": 5}}'}, {"startingTimestamp": "1000"}])
def test_a_beginning_that_is_named_stays(given: dict[str, str]) -> None:
    assert _read("KAFKA", **given)["options"] == given


def test_files_are_read_with_their_options() -> None:
    asked = _read("csv", "/in", header="true")
    assert asked == {"format": "csv", "options": {"header": "true"}, "path": "/in"}


def test_the_rows_of_a_table_need_no_option_of_a_stream() -> None:
    assert delta_options({"skipChangeCommits": "true", "maxFilesPerTrigger": "1"}, "orders") == {}
    assert delta_options({"ReadChangeFeed": "TRUE", "startingVersion": "3"}, "orders") == {
        "readChangeFeed": "true",
        "startingversion": "3",
    }


@pytest.mark.parametrize(
    ("options", "computed"),
    [
        ({"readChangeFeed": "true"}, False),
        ({"readChangeFeed": "true", "startingVersion": "latest"}, False),
        ({"readChangeData": "true", "startingVersion": "1"}, True),
        ({"startingVersion": "1"}, False),
        ({"startingTimestamp": "2026-01-01"}, True),
    ],
)
def test_what_a_batch_cannot_read_of_a_table(options: dict[str, str], computed: bool) -> None:
    with pytest.raises(DefinitionError) as refused:
        delta_options(options, "orders", computed=computed)
    assert refused.value.condition == "BATCH_NOT_POSSIBLE"


@pytest.mark.parametrize("source_format", ["rate", "socket", "kinesis"])
def test_sources_that_only_stream(source_format: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        _read(source_format)
    assert refused.value.condition == "BATCH_NOT_POSSIBLE"
    assert source_format in refused.value.facts["reason"]
