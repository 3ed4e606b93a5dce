"""Reads during analysis: an empty relation of the upstream's schema, before any table exists."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from penstock.errors import DefinitionError
from penstock.graph.companions.quarantine import owner_of, quarantine_of
from penstock.graph.companions.quarantining import declared_owner
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import TemporaryView
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import Input
from penstock.graph.schema.table_schema import Schema
from penstock.spark.evaluation import Evaluation
from penstock.spark.plans.definition import marked_source
from penstock.spark.plans.inspection import empty_relation
from penstock.spark.reading.source_names import tag_placeholder

_CHANGE_FEED = frozenset({"readchangefeed", "readchangedata"})
_CHANGE_FEED_COLUMNS = (
    StructField("_change_type", StringType()),
    StructField("_commit_version", LongType()),
    StructField("_commit_timestamp", TimestampType()),
)


class ReadNotAnswered(BaseException):
    """Leaves a dataset function because of a dataset that it reads.

    Not an Exception, so that a user's `except Exception` does not swallow it.
    """

    def __init__(self, identifier: Identifier) -> None:
        self.identifier = identifier
        super().__init__(str(identifier))


class NotYetResolved(ReadNotAnswered):
    """The dataset must be analysed first.

    The resolver calls the function again; analysis so needs no recursion, however deep the graph is.
    """


class UpstreamFailed(ReadNotAnswered):
    """The dataset has failed itself; reported there, not here."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a dataset that was analysed, and of its `quarantine`, if it has one.

    `rewritten` says what changes or replaces its rows, None when nothing does.
    """

    schema: Schema
    streaming: bool
    rewritten: str | None
    quarantine: Known | None = None


@dataclass(frozen=True, slots=True)
class AnalysisCatalog:
    """Answers reads from what was analysed so far.

    `known` returns what is known of a dataset, None when it was not analysed yet, and raises
    UpstreamFailed when its analysis failed. `stored_table` returns the path of an existing table.
    """

    graph: DataflowGraph
    default_schema: str
    known: Callable[[Identifier], Known | None]
    stored_table: Callable[[Identifier], str | None]

    def find(self, name: str) -> Identifier | None:
        """Returns the pipeline's dataset of that name, or a table's quarantine.

        Raises:
            DefinitionError: SINK_NOT_READABLE.
        """
        dataset = self.graph.find(name, default_schema=self.default_schema)
        if dataset is not None:
            return dataset.identifier
        identifier = Identifier.parse(name, default_schema=self.default_schema)
        if (owner := declared_owner(self.graph, identifier)) is not None:
            return quarantine_of(owner)
        if identifier in self.graph.sinks:
            raise DefinitionError("SINK_NOT_READABLE", name=identifier)
        for refused in (identifier, owner_of(identifier)):
            if refused in self.graph.refused:
                raise UpstreamFailed(refused)
        return None

    def is_view(self, name: str) -> bool:
        """Whether the pipeline declares a view of that name."""
        return isinstance(self.graph.find(name, default_schema=self.default_schema), TemporaryView)

    def stored(self, name: str) -> str | None:
        """Returns the path of a table of the storage that the pipeline does not declare."""
        return self.stored_table(Identifier.parse(name, default_schema=self.default_schema))

    def open(
        self, identifier: Identifier, evaluation: Evaluation, *, streaming: bool, options: Mapping[str, str]
    ) -> DataFrame:
        """Returns an empty relation, or the inlined plan of a view."""
        dataset = self.graph.get(identifier)
        owner = declared_owner(self.graph, identifier) if dataset is None else None
        read = identifier if owner is None else owner
        known = self.known(read)
        if known is None:
            raise NotYetResolved(read)
        if owner is not None:
            known = known.quarantine
            assert known is not None, "find() knows which tables have one"
        if isinstance(dataset, TemporaryView):
            check_view_read(identifier, view_streaming=known.streaming, read_streaming=streaming)
            if any(key.casefold() in {"versionasof", "timestampasof"} for key in options):
                raise DefinitionError("TIME_TRAVEL_ON_VIEW", name=identifier)
            evaluation.note(Input("view", str(identifier), streaming, dataset=identifier))
            return evaluation.inline(dataset, dataset.function)
        name = evaluation.table_source_name(identifier) if streaming else None
        from_quarantine = owner is not None
        evaluation.note(
            Input("delta", str(identifier), streaming, dataset=read, name=name, from_quarantine=from_quarantine)
        )
        if streaming and known.rewritten and not accepts_rewrites(options):
            raise DefinitionError("STREAMING_READ_OF_REWRITTEN_TABLE", name=identifier, reason=known.rewritten)
        schema = readable_schema(known.schema)
        if not streaming:
            schema = marked_source(schema, str(identifier).casefold(), options)
        else:
            if _is_set(options, _CHANGE_FEED):
                schema = StructType([*schema.fields, *_CHANGE_FEED_COLUMNS])
            schema = tag_placeholder(schema, str(name))
        return empty_relation(evaluation.spark, schema, streaming=streaming)


def check_view_read(identifier: Identifier, *, view_streaming: bool, read_streaming: bool) -> None:
    """A view is inlined as it is, so it must be read the way it reads.

    Raises:
        DefinitionError: VIEW_READ_MISMATCH.
    """
    if view_streaming != read_streaming:
        words = {True: "streaming", False: "batch"}
        raise DefinitionError(
            "VIEW_READ_MISMATCH",
            name=identifier,
            kind=words[view_streaming],
            read=words[read_streaming],
            call="spark.readStream.table" if view_streaming else "spark.read.table",
        )


def readable_schema(schema: Schema) -> StructType:
    """Returns the columns as a reader of the table gets them: how Delta generates one is the table's affair."""
    document = json.loads(schema.json)
    for field in document["fields"]:
        own = field.get("metadata", {})
        field["metadata"] = {key: value for key, value in own.items() if not key.startswith("delta.")}
    return StructType.fromJson(document)


def plain_schema(schema: StructType) -> Schema:
    """Returns `schema` as a reader of the stored table would see it.

    Column metadata goes, but for comments: a watermark's mark, for one, is not stored.
    """
    document = json.loads(schema.json())
    for field in document["fields"]:
        comment = field.get("metadata", {}).get("comment")
        field["metadata"] = {} if comment is None else {"comment": comment}
        field["nullable"] = True
    return Schema(json.dumps(document))


def accepts_rewrites(options: Mapping[str, str]) -> bool:
    """Whether the options of a streaming read say what becomes of rows that are changed or removed."""
    return _is_set(options, _CHANGE_FEED | {"skipchangecommits", "ignorechanges"})


def _is_set(options: Mapping[str, str], names: frozenset[str]) -> bool:
    return any(key.casefold() in names and value.casefold() == "true" for key, value in options.items())
