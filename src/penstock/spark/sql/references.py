"""The tables and table functions that a SQL statement reads, found by Spark's own parser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from penstock.graph.sql.names import quoted
from penstock.spark import _jvm
from penstock.spark.sql.edits import Edit
from penstock.spark.sql.scanner import Scanner, Words


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement reads something: `text[start:stop]` is all of `STREAM(name) WITH (…) IDENTIFIED BY x`.

    A table alias can be put in at `alias_at`; None where the statement gives one itself, or cannot.
    """

    start: int
    stop: int
    alias_at: int | None = None

    def replaced_by(self, text: str, alias: str | None) -> Iterator[Edit]:
        """Yields the edits that put another relation here, under `alias` where the statement gives none."""
        if alias is not None and self.alias_at == self.stop:
            text += f" AS {quoted(alias)}"
        yield Edit(self.start, self.stop, text)
        if alias is not None and self.alias_at not in {None, self.stop}:
            yield Edit(self.alias_at or 0, self.alias_at or 0, f" AS {quoted(alias)}")


@dataclass(frozen=True, slots=True)
class TableReference:
    """One table name in a statement; `source_name` is that of IDENTIFIED BY, `options` those of WITH.

    `timestamp` is the expression of TIMESTAMP AS OF. `common` says that WITH defines the name.
    """

    parts: tuple[str, ...]
    streaming: bool
    place: Place
    options: Mapping[str, str]
    source_name: str | None = None
    timestamp: str | None = None
    common: bool = False

    @property
    def name(self) -> str:
        """The dotted name, each part in backquotes."""
        return ".".join(map(quoted, self.parts))


@dataclass(frozen=True, slots=True)
class FunctionReference:
    """One call of a table function in a statement.

    `expressions` are Catalyst's, unresolved; `names` says where each named argument is, by its folded name.
    """

    parts: tuple[str, ...]
    streaming: bool
    place: Place
    expressions: tuple[Any, ...]
    names: Mapping[str, int]
    source_name: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """`command` is the kind of a statement that is no query (`CreateTable`, …), else None.

    `plan` is Spark's, unresolved.
    """

    plan: Any
    words: Words
    tables: tuple[TableReference, ...]
    functions: tuple[FunctionReference, ...]
    command: str | None


@dataclass(frozen=True, slots=True)
class _Node:
    """One node of a parsed plan, the nodes above it (nearest last) and the WITH names that it can see."""

    plan: Any
    kind: str
    above: tuple[_Node, ...]
    common_names: frozenset[str]


# Statements that change nothing but how the same function goes on.
_HARMLESS = {"SetCommand", "ResetCommand", "SetNamespaceCommand", "SetCatalogCommand", "SetCatalogAndNamespace"}


def parse_statement(spark: SparkSession, statement: str) -> ParsedStatement:
    """Parses `statement` without resolving a name.

    Raises:
        ParseException: Spark's own, with line and position.
    """
    plan = _jvm.parse_plan(spark, statement)
    words = Words(statement)
    tables: dict[int, TableReference] = {}
    functions: dict[int, FunctionReference] = {}
    for node in _walk(plan, (), frozenset()):
        if node.kind == "UnresolvedRelation":
            table = _table(node, words)
            common = len(table.parts) == 1 and table.parts[0].casefold() in node.common_names
            # STREAM(name) of a WITH name is what that is.
            if not common or table.streaming:
                tables[table.place.start] = replace(table, common=common)
        elif (
            node.kind == "RelationTimeTravel"
            and node.plan.relation().getClass().getSimpleName() == "UnresolvedRelation"
        ):
            table = _past_table(node, words, statement)
            tables[table.place.start] = table
        elif node.kind == "UnresolvedTableValuedFunction":
            function = _function(node, words)
            functions[function.place.start] = function
    return ParsedStatement(
        plan,
        words,
        tuple(tables[start] for start in sorted(tables)),
        tuple(functions[start] for start in sorted(functions)),
        next(_commands(spark, plan), None),
    )


def _commands(spark: SparkSession, plan: Any) -> Iterator[str]:
    """Yields the kinds of commands, also behind WITH and of `FROM … INSERT … INSERT …`."""
    kind = plan.getClass().getSimpleName()
    if kind in {"UnresolvedWith", "Union"}:
        for child in _jvm.scala_seq(plan.children()):
            yield from _commands(spark, child)
    elif kind not in _HARMLESS and _jvm.is_command(spark, plan):
        yield kind


def _table(node: _Node, words: Words) -> TableReference:
    relation = node.plan
    streaming = bool(relation.isStreaming())
    place, source_name = _place(node, words, streaming=streaming, called=False)
    return TableReference(
        parts=tuple(str(part) for part in _jvm.scala_seq(relation.multipartIdentifier())),
        streaming=streaming,
        place=place,
        options=_options(relation),
        source_name=source_name,
    )


def _options(relation: Any) -> dict[str, str]:
    options = relation.options()
    if options.isEmpty():  # the end of a Java iterator is an exception, which takes PySpark 20 calls to look at
        return {}
    return {str(key): str(value) for key, value in options.asCaseSensitiveMap().items()}


def _past_table(node: _Node, words: Words, statement: str) -> TableReference:
    """Returns the table of `name VERSION AS OF 3`: read by Delta's options, as a view has no past."""
    relation = _Node(node.plan.relation(), "UnresolvedRelation", node.above, node.common_names)
    table = _table(relation, words)
    stop = int(node.plan.origin().stopIndex().get()) + 1
    place = replace(table.place, stop=stop, alias_at=None if table.place.alias_at is None else stop)
    if node.plan.version().isDefined():
        return replace(table, place=place, options={**table.options, "versionAsOf": str(node.plan.version().get())})
    origin = node.plan.timestamp().get().origin()
    expression = statement[int(origin.startIndex().get()) : int(origin.stopIndex().get()) + 1]
    return replace(table, place=place, timestamp=expression)


def _function(node: _Node, words: Words) -> FunctionReference:
    streaming = bool(node.plan.isStreaming())
    place, source_name = _place(node, words, streaming=streaming, called=True)
    return FunctionReference(
        parts=tuple(str(part) for part in _jvm.scala_seq(node.plan.name())),
        streaming=streaming,
        place=place,
        expressions=tuple(_jvm.scala_seq(node.plan.functionArgs())),
        names=words.argument_names(place.start, place.stop),
        source_name=source_name,
    )


def _place(node: _Node, words: Words, *, streaming: bool, called: bool) -> tuple[Place, str | None]:
    """Returns where a relation is, and its name by IDENTIFIED BY.

    Spark's own end of a relation is behind its alias and its watermark; the words show where it ends.
    """
    start = int(node.plan.origin().startIndex().get())
    scanner = words.scan(start)
    enclosed = streaming and scanner.words("STREAM") and scanner.symbol("(")
    called = scanner.words("IDENTIFIER") or called
    scanner.name()
    if called:
        scanner.parentheses()
    if enclosed:
        scanner.symbol(")")
    name = _clauses(scanner)
    above = [each for each in node.above if each.kind != "NamedStreamingRelation"]
    nearest = above[-1] if above else None
    if nearest is None or words.is_after(start, "TABLE"):
        return Place(start, scanner.stop), name
    match nearest.kind:
        case "UnresolvedEventTimeWatermark" if len(above) < 2 or above[-2].kind != "SubqueryAlias":
            # An alias follows the watermark.
            return Place(start, scanner.stop, int(nearest.plan.origin().stopIndex().get()) + 1), name
        case (
            "SubqueryAlias" | "Sample" | "UnresolvedTVFAliases" | "RelationTimeTravel" | "UnresolvedEventTimeWatermark"
        ):
            # Before TABLESAMPLE and the like, an added alias would not parse.
            return Place(start, scanner.stop), name
    return Place(start, scanner.stop, scanner.stop), name


def _clauses(scanner: Scanner) -> str | None:
    """Consumes what may follow the name of a source: `WITH (…)`, `IDENTIFIED BY name`."""
    if scanner.words("WITH"):
        scanner.parentheses()
    return scanner.part() if scanner.words("IDENTIFIED", "BY") else None


def plan_nodes(plan: Any) -> Iterator[Any]:
    """Yields each node of a parsed plan, those of subqueries and of WITH, too."""
    for node in _walk(plan, (), frozenset()):
        yield node.plan


def _walk(plan: Any, above: tuple[_Node, ...], common_names: frozenset[str]) -> Iterator[_Node]:
    here = _Node(plan, plan.getClass().getSimpleName(), above, common_names)
    yield here
    above = (*above, here)
    nested = [plan.children(), plan.subqueries()]
    if here.kind == "UnresolvedWith":
        for relation in _jvm.scala_seq(plan.cteRelations()):
            own = frozenset({str(relation._1()).casefold()})
            # WITH orders AS (SELECT * FROM orders): inside, the name still means the table.
            yield from _walk(relation._2(), above, common_names | own if plan.allowRecursion() else common_names)
            common_names |= own
    else:
        nested.append(plan.innerChildren())
    for below in nested:
        for child in _jvm.scala_seq(below):
            if hasattr(child, "innerChildren") and _jvm.is_logical_plan(child):
                yield from _walk(child, above, common_names)
