"""The options of a jdbc sink name a table of PostgreSQL and say how rows get there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from penstock.errors import PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import FormatSink
from penstock.graph.sinks.jdbc_target import POSTGRESQL, TableName, columns_of
from penstock.graph.sinks.sink_group import options_refused

_BY_HAND = "Write to it in a foreach_batch_sink"
_REMOVE_READING: Final = ("it is for reading", "Remove it")
REFUSED: Final[dict[str, tuple[str, str]]] = {
    "query": ("rows are written to a table", "Name the table as 'dbtable'"),
    "truncate": ("a sink never removes rows", "Remove it; docs/how-to/jdbc.md says how to start over"),
    "cascadeTruncate": ("a sink never removes rows", "Remove it; docs/how-to/jdbc.md says how to start over"),
    "isolationLevel": ("a batch is committed as a whole by one transaction", "Remove it"),
    "createTableOptions": ("a table that is missing is created plainly", "Create the table yourself, and remove it"),
    "createTableColumnTypes": (
        "a table that is missing is created plainly",
        "Create the table yourself, and remove it",
    ),
    "stringtype": ("texts are cast to the types of the table's columns already", "Remove it"),
    **dict.fromkeys(
        (
            *("partitionColumn", "lowerBound", "upperBound", "fetchsize", "predicates", "customSchema", "hint"),
            *("pushDownPredicate", "pushDownAggregate", "pushDownLimit", "pushDownOffset", "pushDownTableSample"),
            *("pushDownJoin", "preferTimestampNTZ", "sessionInitStatement", "prepareQuery"),
        ),
        _REMOVE_READING,
    ),
}
"""Options of Spark's JDBC sources and writers that a sink does not take: why, and what to do."""

_REFUSED: Final = {name.casefold(): refusal for name, refusal in REFUSED.items()}
_REFERENCE: Final = re.compile(r"\{\{\s*secrets/|\$\{(env|file):")
_PASSWORD: Final = re.compile(r"[?&](password|user|sslpassword)=|//[^/@]*@", re.IGNORECASE)


def jdbc_options(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports options that are missing, contradict each other, or cannot do what they say; never a value of one."""
    for sink in graph.sinks.values():
        if not isinstance(sink, FormatSink) or sink.kind != "jdbc":
            continue
        for reason, way_out in (*_of_the_place(sink), *_of_the_mode(sink), *_refused(sink)):
            yield options_refused(sink, reason, way_out)


def _of_the_place(sink: FormatSink) -> Iterator[tuple[str, str]]:
    url, table = sink.option("url"), sink.option("dbtable")
    if not url:
        yield "jdbc needs the database", "Add the option 'url': 'jdbc:postgresql://host:5432/database'"
    elif not url.casefold().startswith(POSTGRESQL):
        kind = url.split(":")[1] if url.startswith("jdbc:") and url.count(":") > 1 else "this url"
        yield f"rows get exactly once into PostgreSQL only, and {kind} is none", _BY_HAND
    elif _PASSWORD.search(url):
        yield "its url holds a user or a password, and is shown", "Give them as the options 'user' and 'password'"
    if not table:
        yield "jdbc needs the table", "Add the option 'dbtable': 'schema.table'"
    elif TableName.parse(table) is None:
        yield "its dbtable is no name of a table", "Write table or schema.table, a part in double quotes if need be"


def _of_the_mode(sink: FormatSink) -> Iterator[tuple[str, str]]:
    mode = (sink.option("mode") or "append").strip().casefold()
    keys, sequence = columns_of(sink.option("keys")), sink.option("sequenceBy")
    if mode not in {"append", "upsert"}:
        yield f"it has no mode '{mode}'", "Write 'mode': 'append' or 'mode': 'upsert'"
    elif mode == "upsert" and not keys:
        yield "upsert finds a row by its keys, and none are given", "Add the option 'keys': 'id' (several with commas)"
    elif mode == "append" and (keys or sequence):
        yield "keys and sequenceBy are for upsert", "Add the option 'mode': 'upsert', or remove them"
    if len({key.casefold() for key in keys}) < len(keys):
        yield "a column is named twice in keys", "Name each once"
    if sequence and sequence.casefold() in {key.casefold() for key in keys}:
        yield "sequenceBy is one of the keys", "Name the column that says which of two rows of one key is newer"
    if (seconds := sink.option("lockTimeout")) is not None and not (seconds.isdecimal() and int(seconds) > 0):
        yield "its lockTimeout is no number of seconds", "Write whole seconds, such as '30'"


def _refused(sink: FormatSink) -> Iterator[tuple[str, str]]:
    for name, value in sink.options.items():
        if (refused := _REFUSED.get(name.casefold())) is not None:
            reason, way_out = refused
            yield f"it does not take the option '{name}': {reason}", way_out
        if _REFERENCE.search(value):
            way_out = f"Write '{name}': '${{secret:scope/key}}', and an entry scope/key of secrets in penstock.yml"
            yield f"its option '{name}' has a reference that only penstock.yml resolves", way_out
