"""What a batch query is made of: a fingerprint that is the same in the next process, and what it depends on."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from penstock.graph.resolved import QueryDefinition
from penstock.spark import _jvm

ALL_FIELDS: Final = 2**31 - 1
"""As many columns of a wide relation as there can be."""

LAMBDA_NAME: Final = r"(?<=\blambda )\w+(?=#)"
"""A pattern: the name of an argument in a function of elements, which Spark generates where Python calls it."""

CTE_ID: Final = r"(?<=CTERelationDef )\d+|(?<=CTERelationRef )\d+"
"""A pattern: the number that Spark generates for a common table expression."""

_METRICS_ID = re.compile(r"(CollectMetrics .*), \d+$")

_SOURCE = "penstock.source"

_CODE = {
    "PythonUDF": "a Python function",
    "PythonUDAF": "a Python function",
    "PythonUDTF": "a Python function",
    "UnresolvedPolymorphicPythonUDTF": "a Python function",
    "ScalaUDF": "a Java function",
    "ScalaUDAF": "a Java function",
    "ScalaAggregator": "a Java function",
}
_TIME_FUNCTIONS = {
    "CurrentTimestamp": "current_timestamp",
    "CurrentDate": "current_date",
    "CurrentTime": "current_time",
    "CurrentUser": "current_user",
    "LocalTimestamp": "localtimestamp",
    "Now": "now",
}
# Leaves without data of their own, or with data that the plan itself shows.
_SELF_CONTAINED = {"Range", "OneRowRelation", "EmptyRelation", "CTERelationRef", "UnionLoopRef"}

# What differs between two analyses of one query: ids that Spark generates, the names of our views, positions of time.
_GENERATED_IDS = re.compile(rf"#\d+L?|\b__penstock_\d+\b|{LAMBDA_NAME}|{CTE_ID}")
_VIEW = re.compile(r"\b__penstock_\d+\b")
# The expressions that hold a plan of their own.
_NESTED = re.compile(r'\.expressions\.(?:\w*Subquery|Exists|ListQuery|FunctionTableSubqueryArgumentExpression)"')
_DROPPED_KEYS = {"jvmId", "dataframeId", "createTime", "nonInheritableMetadataKeys"}
_ID_KEYS = {"id", "cteId"}


def plan_lines(plan: Any) -> list[str]:
    """Returns the text of a whole `LogicalPlan` by line, without Spark's numbers of observed queries."""
    tree = str(plan.treeString(True, False, ALL_FIELDS, False, False))
    return [_METRICS_ID.sub(r"\1", line) for line in tree.splitlines()]


@dataclass(slots=True)
class Ordinals:
    """Gives each generated id the number of its first appearance."""

    seen: dict[str, int] = field(default_factory=dict)

    def of(self, generated: object) -> int:
        """Returns the number of an id."""
        return self.seen.setdefault(str(generated), len(self.seen))


_ANY_NUMBER = 2**31 - 1


def plan_json(spark: SparkSession, plan: Any, *, most: int = _ANY_NUMBER) -> str | None:
    """Returns `plan.toJSON()`, None for a plan with more than `most` expressions.

    Spark cannot write every plan, and raises a Py4JJavaError then. Compressed on its way: py4j sends more than 8 kB in
    several packets, and TCP has the second one wait 40 ms.
    """
    try:
        written = _jvm.jvm(spark).penstock.plans.PlanJson.compressed(plan, most)
    except TypeError:  # a session without Penstock's classes: py4j took the class for a package
        return str(plan.toJSON())
    return zlib.decompress(written).decode() if written else None


def marked_source(schema: StructType, source: str, options: Mapping[str, str]) -> StructType:
    """Returns `schema` with a mark that says, in a query's plan, which dataset an empty relation stands for."""
    if not schema.fields:
        return schema
    first = schema.fields[0]
    mark = json.dumps([source, sorted(options.items())])
    metadata = {**first.metadata, _SOURCE: mark}
    return StructType([StructField(first.name, first.dataType, first.nullable, metadata), *schema.fields[1:]])


def marked_dataset(leaf: Any) -> str | None:
    """Returns the `source` that `marked_source` put on a `LocalRelation`; None of one without a mark."""
    mark = _mark(leaf)
    return None if mark is None else str(json.loads(mark)[0])


def query_definition(frame: DataFrame, *, around: object) -> QueryDefinition:
    """Returns the definition of a batch query over relations marked by `marked_source`.

    `around` is what else its result depends on (settings, the table's layout), as JSON-ready data.
    """
    plan = _jvm.analyzed_plan(frame)
    ordinals, leaves = Ordinals(), _Leaves()
    always: str | None = None
    try:
        document = str(plan_json(frame.sparkSession, plan))
    except Py4JJavaError:
        document, always = "[]", "its query cannot be compared with that of the last refresh"
    # Two forms of the plan: the JSON lacks what is in a map, the text the types of literals.
    text = [_without_generated_ids(line, ordinals) for line in plan_lines(plan)]
    text += [leaves.describe(leaf) for leaf in _leaves(plan, nested=_NESTED.search(document) is not None)]
    always, moving = always or leaves.elsewhere, leaves.elsewhere is not None
    classes = {name.rpartition(".")[2] for name in re.findall(r'"class":"([^"]+)"', document)}
    if moments := sorted(_TIME_FUNCTIONS[name] for name in classes & _TIME_FUNCTIONS.keys()):
        always, moving = always or f"{', '.join(moments)} differs with each refresh", True
    elif not classes & _CODE.keys() and not plan.deterministic():
        always, moving = always or "its query is not deterministic", True
    if code := sorted({_CODE[name] for name in classes & _CODE.keys()}):
        always = always or f"its query calls {code[0]}, whose code is not compared"
    content = [text, _normalised(json.loads(document), Ordinals()), frame.schema.json(), around]
    fingerprint = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return QueryDefinition(fingerprint, tuple(dict.fromkeys(leaves.outside)), always, moving)


@dataclass(slots=True)
class _Leaves:
    """What a plan reads: Delta tables outside of the pipeline, and the first thing that has no versions."""

    outside: list[str] = field(default_factory=list)
    elsewhere: str | None = None

    def describe(self, leaf: Any) -> str:
        """Returns a text that is the same as long as the leaf reads the same."""
        kind = str(leaf.getClass().getSimpleName())
        if kind == "LocalRelation":
            mark = _mark(leaf)
            return f"pipeline {mark}" if mark else f"rows {leaf.data().toString()}"
        if kind in _SELF_CONTAINED:
            return kind
        if kind != "LogicalRelation":
            made_here = kind in {"LogicalRDD", "ExternalRDD"}
            return self._elsewhere("rows made in Python" if made_here else "a source without versions")
        location = _jvm.file_index(leaf)
        if location is None:
            return self._elsewhere("a source without versions")
        paths = [str(path) for path in _jvm.scala_seq(location.rootPaths())]
        if location.getClass().getSimpleName() != "TahoeLogFileIndex":
            return self._elsewhere(f"files in {', '.join(paths)}")
        path = re.sub(r"^file:/*", "/", paths[0])
        self.outside.append(path)
        return f"delta {path} {location.version() if location.isTimeTravelQuery() else ''}"

    def _elsewhere(self, what: str) -> str:
        self.elsewhere = self.elsewhere or f"it reads {what}, not only Delta tables"
        return what


def _mark(leaf: Any) -> str | None:
    fields = json.loads(leaf.schema().json())["fields"]
    mark = fields[0]["metadata"].get(_SOURCE) if fields else None
    return None if mark is None else str(mark)


def _without_generated_ids(line: str, ordinals: Ordinals) -> str:
    return _GENERATED_IDS.sub(lambda match: f"<{ordinals.of(match.group().rstrip('L'))}>", line)


def _normalised(document: Any, ordinals: Ordinals) -> Any:
    """The JSON form of a plan without what differs from process to process."""
    if isinstance(document, list):
        return [_normalised(each, ordinals) for each in document]
    if isinstance(document, str):
        return _VIEW.sub(lambda match: f"<{ordinals.of(match.group())}>", document)
    if not isinstance(document, dict):
        return document
    kind = str(document.get("class") or document.get("product-class") or "").rpartition(".")[2]
    if kind == "Literal":
        return document
    if kind == "View":
        document = {key: value for key, value in document.items() if key != "desc"}
    elif kind == "NamedLambdaVariable":
        document = {key: value for key, value in document.items() if key != "name"}
    has_generated_id = kind in {"ExprId", "CTERelationDef", "CTERelationRef"}
    return {
        key: ordinals.of(f"{key} {value}" if kind == "ExprId" else f"cte {value}")
        if has_generated_id and key in _ID_KEYS
        else _normalised(value, ordinals)
        for key, value in document.items()
        if key not in _DROPPED_KEYS
    }


def _leaves(plan: Any, *, nested: bool) -> Iterator[Any]:
    """The nodes that read something; a walk through all nodes is slow, and only subqueries need it."""
    if not nested:
        yield from _jvm.scala_seq(plan.collectLeaves())
        return
    for node in _walk(plan):
        if node.children().isEmpty():
            yield node


def _walk(plan: Any) -> Iterator[Any]:
    """The nodes of a plan and of the subqueries in its expressions."""
    yield plan
    below: list[Sequence[Any]] = [_jvm.scala_seq(plan.children()), _jvm.scala_seq(plan.subqueries())]
    for nodes in below:
        for node in nodes:
            yield from _walk(node)
