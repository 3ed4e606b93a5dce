"""The tables that a SQL statement reads, found by Spark's own parser, and how to replace them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from penstock.spark import _jvm


@dataclass(frozen=True, slots=True)
class TableReference:
    """One table name in a statement: `text[start:stop]` is the name, or all of `STREAM(name)`.

    `aliased` tells that the statement gives the table another name right there, or cannot.
    """

    parts: tuple[str, ...]
    streaming: bool
    start: int
    stop: int
    aliased: bool

    @property
    def name(self) -> str:
        """The dotted name, each part in backquotes."""
        return ".".join(f"`{part.replace('`', '``')}`" for part in self.parts)


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """`command` is the kind of a statement that is no query (`CreateTable`, …), else None."""

    references: tuple[TableReference, ...]
    command: str | None


# Spark's position of a streaming relation goes on over its alias: the name ends sooner.
_PART = r"(?:`(?:[^`]|``)+`|\w+)"
_STREAM = re.compile(rf"STREAM\s*(?:\(\s*{_PART}(?:\s*\.\s*{_PART})*\s*\)|\s+{_PART}(?:\.{_PART})*)", re.IGNORECASE)
_AFTER_TABLE = re.compile(r"\bTABLE\s*\(?\s*$", re.IGNORECASE)

# Statements that change nothing but how the same function goes on.
_HARMLESS = {"SetCommand", "ResetCommand", "SetNamespaceCommand", "SetCatalogCommand", "SetCatalogAndNamespace"}


def parse_statement(spark: SparkSession, statement: str) -> ParsedStatement:
    """Parses `statement` without resolving a name.

    Raises:
        ParseException: Spark's own, with line and position.
    """
    plan = _jvm.parse_plan(spark, statement)
    found: dict[tuple[int, int], TableReference] = {}
    for node, parents, common_names in _walk(plan, (), frozenset()):
        if node.getClass().getSimpleName() == "UnresolvedRelation":
            reference = _reference(statement, node, parents)
            if len(reference.parts) > 1 or reference.parts[0].casefold() not in common_names:
                found[reference.start, reference.stop] = reference
    references = tuple(sorted(found.values(), key=lambda each: each.start))
    return ParsedStatement(references, next(_commands(spark, plan), None))


def _commands(spark: SparkSession, plan: Any) -> Iterator[str]:
    """Yields the kinds of commands, also behind WITH and of `FROM … INSERT … INSERT …`."""
    kind = plan.getClass().getSimpleName()
    if kind in {"UnresolvedWith", "Union"}:
        for child in _jvm.scala_seq(plan.children()):
            yield from _commands(spark, child)
    elif kind not in _HARMLESS and _jvm.is_command(spark, plan):
        yield kind


def replace_references(
    statement: str, replacement: Callable[[TableReference], str | None], parsed: ParsedStatement
) -> str:
    """Returns `statement` with each reference replaced by the view name that `replacement` gives.

    A reference without an alias gets its own last part as alias, so that `orders.amount` still
    resolves. References for which `replacement` answers None stay as they are.
    """
    views = [replacement(reference) for reference in parsed.references]
    for reference, view in reversed(list(zip(parsed.references, views, strict=True))):
        if view is None:
            continue
        alias = "" if reference.aliased else f" AS `{reference.parts[-1].replace('`', '``')}`"
        statement = f"{statement[: reference.start]}`{view}`{alias}{statement[reference.stop :]}"
    return statement


def _reference(statement: str, node: Any, parents: tuple[str, ...]) -> TableReference:
    start, stop = int(node.origin().startIndex().get()), int(node.origin().stopIndex().get()) + 1
    if node.isStreaming() and (keyword := _STREAM.match(statement, start)):
        stop = keyword.end()
    around = [parent for parent in parents if parent != "NamedStreamingRelation"]
    return TableReference(
        parts=tuple(str(part) for part in _jvm.scala_seq(node.multipartIdentifier())),
        streaming=bool(node.isStreaming()),
        start=start,
        stop=stop,
        # After TABLE, and before TABLESAMPLE and the like, an added alias would not parse.
        aliased=bool(_AFTER_TABLE.search(statement, 0, start))
        or (bool(around) and around[-1] in {"SubqueryAlias", "Sample", "UnresolvedTVFAliases", "RelationTimeTravel"}),
    )


def _walk(
    plan: Any, parents: tuple[str, ...], common_names: frozenset[str]
) -> Iterator[tuple[Any, tuple[str, ...], frozenset[str]]]:
    """Yields each node with the kinds of the nodes above it and the WITH names that it can see."""
    yield plan, parents, common_names
    kind = plan.getClass().getSimpleName()
    here = (*parents, kind)
    nested = [plan.children(), plan.subqueries()]
    if kind == "UnresolvedWith":
        for relation in _jvm.scala_seq(plan.cteRelations()):
            own = frozenset({str(relation._1()).casefold()})
            # WITH orders AS (SELECT * FROM orders): inside, the name still means the table.
            yield from _walk(relation._2(), here, common_names | own if plan.allowRecursion() else common_names)
            common_names |= own
    else:
        nested.append(plan.innerChildren())
    for below in nested:
        for child in _jvm.scala_seq(below):
            if hasattr(child, "innerChildren") and _jvm.is_logical_plan(child):
                yield from _walk(child, here, common_names)
