"""What a streaming query is made of, as far as its checkpoint depends on it; the same in the next process."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from penstock.graph.elements import OutputMode
from penstock.graph.resolved import Input
from penstock.graph.stream_definition import STATE_SETTINGS, WATERMARK_POLICY, StateOperator, StreamDefinition
from penstock.spark import _jvm
from penstock.spark.plans.definition import ALL_FIELDS, CTE_ID, LAMBDA_NAME, Ordinals, plan_lines
from penstock.spark.plans.inspection import STATEFUL
from penstock.spark.session.query_settings import query_settings

_ATTRIBUTE = re.compile(r"([^\s(),\[\]{}]*)#(\d+)L?(?:-T\d+ms)?")
# Of a source the columns count; before them stand addresses of objects, and options.
_LEAF = re.compile(
    r"^([\s:|+~-]*)(?:\w*Streaming\w*Relation\w*|Relation|LocalRelation|LogicalRDD)\b"
    r"(?:.*?(?=\[[^\[\]]*#\d)|[^\[]*)(.*)$"
)
# Our views, the ids that Spark 4.2 draws for each watermark, and names of arguments.
_GENERATED_IDS = re.compile(
    rf"\b__penstock_\d+\b|\b[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}\b|{LAMBDA_NAME}"
)
_CTE = re.compile(CTE_ID)
_ARGUMENT = re.compile(r"\blambda \w+#(\d+)L?")
# The seeds of random functions; Spark does not distinguish those that it generated from given ones.
_SEED = re.compile(r"(\b(?:rand|randn|random|Some)\(|\b(?:randstr|uniform)\([^()]*, )-?\d+(?=\)|, true\b)")
_LONGEST_TEXT = 200


def stream_definition(
    frame: DataFrame,
    sources: Iterable[Input],
    mode: OutputMode,
    keys: tuple[str, ...] | None,
    conf: Mapping[str, str],
) -> StreamDefinition:
    """Returns the definition of a streaming query.

    `sources` are its streaming reads, which have names, those of the views that it inlines among them; `keys` the
    columns by which it updates the rows of a table, None when it does not; `conf` is set while it runs.
    """
    plan = _jvm.analyzed_plan(frame)
    named = {read.name: read.source for read in sources if read.name is not None}
    lines = plan_lines(plan)
    operators: tuple[StateOperator, ...] = ()
    watermarks: Mapping[str, str] = {}
    settings: Mapping[str, str] = {}
    if any(name in line for line in lines for name in ("EventTimeWatermark", "Join", *STATEFUL)):
        with query_settings(frame.sparkSession, {"spark.sql.debug.maxToStringFields": str(ALL_FIELDS)}):
            state = _State()
            state.add(plan, _ids(plan.output().mkString(" ")))
        operators, watermarks = tuple(state.operators), state.watermarks
        matter = state.settings()
        settings = {key: conf[key] if key in conf else str(frame.sparkSession.conf.get(key)) for key in matter}
    query = hashlib.sha256("\n".join(_without_generated_ids(lines)).encode()).hexdigest()
    return StreamDefinition(named, operators, watermarks, mode.value, query, keys, settings)


def _without_generated_ids(lines: Iterable[str]) -> list[str]:
    """The text of a plan without ids that Spark generates, and without what stands for a source there."""
    ordinals = Ordinals()
    found = []
    for line in lines:
        text = _SEED.sub(r"\1", _GENERATED_IDS.sub("", _LEAF.sub(r"\1source \2", line)))
        text = _CTE.sub(lambda cte: str(ordinals.of(f"cte {cte[0]}")), text)
        found.append(_ATTRIBUTE.sub(lambda column: f"{column[1]}#{ordinals.of(column[2])}", text))
    return found


@dataclass(slots=True)
class _State:
    """The operators with state of a plan, and what each column is computed from."""

    operators: list[StateOperator] = field(default_factory=list)
    watermarks: dict[str, str] = field(default_factory=dict)
    _marks: int = 0  # two of one column's name are one of `watermarks`
    _computed: dict[str, str] = field(default_factory=dict)

    def add(self, plan: Any, needed: frozenset[str]) -> None:
        """Walks through the nodes of a plan, those that are executed first at first.

        `needed` are the ids of the columns that are used above the plan: Spark keeps no others in its state.
        """
        kind = plan.getClass().getSimpleName()
        children = _jvm.scala_seq(plan.children())
        below = _needed_below(kind, plan, needed)
        for child in children:
            self.add(child, _needed_of_union(plan, child, needed) if kind == "Union" else below)
        match kind:
            case "Project":
                self._define(_jvm.scala_seq(plan.projectList()))
            case "Window":
                self._define(_jvm.scala_seq(plan.windowExpressions()))
            case "Expand":
                self._unite(plan, [_jvm.scala_seq(row) for row in _jvm.scala_seq(plan.projections())])
            case "Union":
                self._unite(plan, [_jvm.scala_seq(child.output()) for child in children])
            case "EventTimeWatermark":
                self.watermarks[self._text(plan.eventTime())] = str(plan.delay().toString())
                self._marks += 1
            case "Aggregate":
                if plan.isStreaming():
                    self._keep(STATEFUL[kind], *_aggregation(plan, needed))
                self._define(_jvm.scala_seq(plan.aggregateExpressions()))
            case "Deduplicate" | "DeduplicateWithinWatermark" if plan.isStreaming():
                self._keep(STATEFUL[kind], _jvm.scala_seq(plan.keys()))
            case "Distinct" if plan.isStreaming():
                self._keep(STATEFUL[kind], _jvm.scala_seq(plan.output()))
            case "Join" if all(child.isStreaming() for child in children):
                condition = plan.condition()
                columns = [column for child in children for column in _jvm.scala_seq(child.output())]
                self._keep(
                    f"stream-stream {str(plan.joinType().sql()).lower()} join",
                    [] if condition.isEmpty() else [condition.get()],
                    [column for column in columns if _jvm.id_of(column) in below],
                )
            case name if name in STATEFUL and plan.isStreaming():
                in_python = name == "TransformWithStateInPySpark"
                keys = _jvm.scala_seq(plan.leftAttributes() if in_python else plan.groupingAttributes())
                named = str(plan.stateType().catalogString()) if name == "FlatMapGroupsInPandasWithState" else ""
                self._keep(STATEFUL[name], keys, named=named)

    def settings(self) -> tuple[str, ...]:
        """The settings that matter to the operators."""
        if not self.operators:
            return ()
        return STATE_SETTINGS if self._marks < 2 else (WATERMARK_POLICY, *STATE_SETTINGS)

    def _keep(
        self,
        name: str,
        keys: Sequence[Any],
        values: Sequence[Any] = (),
        functions: Sequence[Any] = (),
        named: str = "",
    ) -> None:
        """Notes an operator; `functions` are all that an aggregate computes, `named` the type of a user's state."""
        content = self._digest(name, keys, values)
        held = self._digest(name + named, keys, functions or values)
        self.operators.append(StateOperator(name, _shown(keys), _shown(functions or values), content, held))

    def _digest(self, name: str, keys: Sequence[Any], values: Sequence[Any]) -> str:
        content = [f"{self._text(each)} {each.dataType().catalogString()}" for each in (*keys, *values)]
        return hashlib.sha256("\n".join([name, str(len(keys)), *content]).encode()).hexdigest()

    def _define(self, expressions: Iterable[Any]) -> None:
        for expression in expressions:
            if expression.getClass().getSimpleName() == "Alias":
                self._computed[_jvm.id_of(expression)] = _short(self._text(expression.child()))

    def _unite(self, plan: Any, rows: list[list[Any]]) -> None:
        """Several rows, or inputs, become one column: how often and in which order does not matter to its values."""
        for position, column in enumerate(_jvm.scala_seq(plan.output())):
            texts = sorted({self._text(row[position]) for row in rows})
            self._computed[_jvm.id_of(column)] = _short(" or ".join(texts))

    def _text(self, expression: Any) -> str:
        """Returns an expression over the columns of the sources, by name."""
        if expression.getClass().getSimpleName() == "Alias":
            expression = expression.child()
        return _ATTRIBUTE.sub(lambda found: self._computed.get(found[2], found[1]), _written(expression))


def _needed_below(kind: str, plan: Any, needed: frozenset[str]) -> frozenset[str]:
    """The columns that a node needs of its children, as Spark's optimizer finds them."""
    match kind:
        case "Project":
            return _references(plan.projectList(), needed)
        case "Aggregate":
            return _references(plan.aggregateExpressions(), needed) | _ids(plan.groupingExpressions().mkString(" "))
        case "Distinct":
            return _ids(plan.output().mkString(" "))
        case _:
            return needed | _ids(plan.references().toString())


def _references(expressions: Any, needed: frozenset[str]) -> frozenset[str]:
    """The columns in those named expressions that are needed."""
    wanted = (each for each in _jvm.scala_seq(expressions) if _jvm.id_of(each) in needed)
    return frozenset().union(*(_ids(each.references().toString()) for each in wanted))


def _needed_of_union(plan: Any, child: Any, needed: frozenset[str]) -> frozenset[str]:
    columns = zip(_jvm.scala_seq(plan.output()), _jvm.scala_seq(child.output()), strict=True)
    return frozenset(_jvm.id_of(own) for union, own in columns if _jvm.id_of(union) in needed)


def _aggregation(plan: Any, needed: frozenset[str]) -> tuple[list[Any], list[Any], list[Any]]:
    """What an aggregate groups by, and the functions that it computes for columns that are needed: some, and all."""
    outputs = _jvm.scala_seq(plan.aggregateExpressions())
    used = [each for each in outputs if _jvm.id_of(each) in needed]
    parts = _jvm.physical_aggregation(plan)
    if parts is None:  # one with a Python function
        return _jvm.scala_seq(plan.groupingExpressions()), used, used
    grouping, functions = parts
    texts, others = ("\n".join(str(each.toString()) for each in part) for part in (used, outputs))
    # What is found nowhere is taken for needed: state that is missed would be read as something else.
    every = [each for each in functions if (text := _in_query(each)) in texts or text not in others]
    return grouping, [function for function in functions if _plain(function) in texts], every


def _in_query(function: Any) -> str:
    """The text of an aggregate function in the query, which for some of them is not that of the function itself."""
    return str(function.aggregateFunction().toAggString(function.isDistinct()))


def _plain(function: Any) -> str:
    """The text of an aggregate function as it is in the query; alone, Spark shows the id of its result too."""
    return re.sub(r"#\d+L?$", "", str(function.aggregateFunction().toString()))


def _written(expression: Any) -> str:
    """The text of an expression without generated seeds; arguments of functions of elements have numbers, not names."""
    ordinals = Ordinals()
    text = _SEED.sub(r"\1", str(expression.toString()))
    return _ARGUMENT.sub(lambda found: f"lambda {ordinals.of(found[1])}", text)


def _ids(text: Any) -> frozenset[str]:
    return frozenset(found[2] for found in _ATTRIBUTE.finditer(str(text)))


def _short(text: str) -> str:
    """A long text is replaced by its digest: expressions that build on each other would grow without end."""
    return text if len(text) <= _LONGEST_TEXT else hashlib.sha256(text.encode()).hexdigest()


def _shown(expressions: Iterable[Any]) -> tuple[str, ...]:
    """Returns expressions as a person reads them."""
    texts = (_ATTRIBUTE.sub(lambda found: found[1], _written(each)) for each in expressions)
    return tuple(text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…" for text in texts)
