"""The DataFrames of a script: where each one comes from, and what was called on it, in order.

Statements are read from top to bottom, once; a name is what was assigned to it last. What cannot be followed (a
function of another module, a loop, a parameter) leaves a frame that is not *whole*: rules that miss something in a
frame ask only whole ones, so that they are silent rather than wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Final

from penstock.care.lint.tree import children, walk

STARTS: Final = {"start", "toTable", "table"}
_HIDDEN: Final = "?"
"""The step of something that cannot be followed."""
_UNFOLLOWED: Final = {_HIDDEN, "transform"}
_READERS: Final = {"readStream", "read"}
_WITHOUT_CHAINS: Final = (ast.Constant, ast.Name, ast.Lambda)  # the parameters of a lambda are not the names around it
_NAMED_STREAMS: Final = {"read_stream", "readStream"}


class Origin(Enum):
    """What the rows of a frame are."""

    STREAM = "stream"
    BATCH = "batch"
    MICRO_BATCH = "micro-batch"
    """The frame that Spark hands to a function of `foreachBatch`."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Step:
    """One attribute of a chain, with its call, if it is called; `others` are the frames among the arguments."""

    name: str
    node: ast.expr
    call: ast.Call | None = None
    others: tuple[Frame, ...] = ()

    @property
    def followed(self) -> bool:
        """Whether what it does is known."""
        return self.name not in _UNFOLLOWED

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        """The calls among its arguments by position, at any depth."""
        return tuple(node for each in self.arguments for node in walk(each) if isinstance(node, ast.Call))

    @property
    def arguments(self) -> list[ast.expr]:
        """The arguments by position."""
        return [] if self.call is None else list(self.call.args)

    def argument(self, position: int, name: str) -> ast.expr | None:
        """Returns an argument given by position or by name."""
        arguments = self.arguments
        return arguments[position] if position < len(arguments) else self.keyword(name)

    def keyword(self, name: str) -> ast.expr | None:
        """Returns an argument that can only be given by name."""
        keywords = [] if self.call is None else self.call.keywords
        return next((each.value for each in keywords if each.arg == name), None)


@dataclass(frozen=True, eq=False)
class Frame:
    """A DataFrame, or a reader or writer of one: a chain of steps from its origin."""

    origin: Origin
    steps: tuple[Step, ...] = ()

    @cached_property
    def streaming(self) -> bool:
        """Whether it certainly is a stream: it is read as one, or written as one."""
        joined = any(other.streaming for step in self.steps for other in step.others)
        return self.origin is Origin.STREAM or joined or self.step("writeStream") is not None

    @cached_property
    def whole(self) -> bool:
        """Whether all that was done to it, and to the frames it was joined with, is known."""
        return self.origin is not Origin.UNKNOWN and all(
            step.followed and all(other.whole for other in step.others) for step in self.steps
        )

    @property
    def started(self) -> bool:
        """Whether it is a running query by now."""
        return bool(self.steps) and self.steps[-1].name in STARTS and self.step("writeStream") is not None

    def step(self, *names: str) -> Step | None:
        """Returns the first step of one of the names."""
        return next((step for step in self.steps if step.name in names), None)

    def before(self, step: Step) -> Frame:
        """Returns the frame on which a step is called."""
        return replace(self, steps=self.steps[: self.steps.index(step)])

    def hidden(self, node: ast.expr) -> Frame:
        """Returns it after something that cannot be followed."""
        return replace(self, steps=(*self.steps, Step(_HIDDEN, node)))

    @cached_property
    def all_steps(self) -> tuple[Step, ...]:
        """Its steps and those of the frames that it was joined with, theirs before the join, each once."""
        found: dict[Step, None] = {}
        for step in self.steps:
            for other in step.others:
                found |= dict.fromkeys(other.all_steps)
            found[step] = None
        return tuple(found)


@dataclass(slots=True)
class Frames:
    """Everything that was found: each step with the frame on which it is called, and what functions are given.

    `used` has a frame before each of its steps, in the order of the text; `batch_functions` are those that
    `foreachBatch` is given.
    """

    used: list[tuple[Frame, Step]] = field(default_factory=list)
    names: dict[str, Frame] = field(default_factory=dict)
    batch_functions: list[ast.FunctionDef] = field(default_factory=list)
    _seen: dict[int, Frame | None] = field(default_factory=dict)
    _functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    _results: dict[str, list[ast.expr]] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: ast.Module, nodes: Iterable[ast.AST]) -> Frames:
        """Reads a script, whose `nodes` are the functions and calls of its tree."""
        found = cls()
        named: set[str] = set()
        functions = []
        for node in nodes:
            match node:
                case ast.FunctionDef(name=name):
                    functions.append(node)
                    found._functions.setdefault(name, node)
                case ast.Call(func=ast.Attribute(attr="foreachBatch"), args=[ast.Name(id=name), *_]):
                    named.add(name)
                case ast.Call(func=ast.Attribute(attr="foreachBatch"), args=[ast.Attribute(attr=name), *_]):
                    named.add(name)
        found.batch_functions = [each for each in functions if each.name in named]
        found._block(tree.body, found.names)
        return found

    @property
    def writes(self) -> list[Frame]:
        """The streaming queries that are started, as the chains that end in `start` or `toTable`."""
        return [
            replace(frame, steps=(*frame.steps, step))
            for frame, step in self.used
            if step.call is not None and step.name in STARTS and frame.step("writeStream") is not None
        ]

    # ---- statements ----

    def _block(self, body: Sequence[ast.stmt], names: dict[str, Frame]) -> None:
        for statement in body:
            self._statement(statement, names)

    def _statement(self, statement: ast.stmt, names: dict[str, Frame]) -> None:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(statement, names)
                return
            case ast.ClassDef(body=body):
                self._block(body, names)
                return
        for expression in _expressions(statement):
            self._all_of(expression, names)
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, self._frame(value, names), names)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self._frame(value, names), names)
        before = dict(names)
        for block in _blocks(statement):
            self._block(block, names)
        if isinstance(statement, ast.For | ast.While | ast.AsyncFor):
            for key, frame in names.items():  # the second time round it may be another one
                if key in before and before[key] is not frame:
                    names[key] = frame.hidden(frame.steps[-1].node)

    def _function(self, function: ast.FunctionDef | ast.AsyncFunctionDef, names: dict[str, Frame]) -> dict[str, Frame]:
        """Reads a function's body; returns what its names are at its end."""
        inner = dict(names)
        given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        for position, argument in enumerate(each for each in given if each.arg != "self"):
            batch = position == 0 and function in self.batch_functions
            inner[argument.arg] = Frame(Origin.MICRO_BATCH if batch else Origin.UNKNOWN)
        self._block(function.body, inner)
        return inner

    def _assign(self, target: ast.expr, frame: Frame | None, names: dict[str, Frame]) -> None:
        key = _name(target)
        if key is None:
            return
        if frame is None:
            names.pop(key, None)
        else:
            names[key] = frame

    # ---- expressions ----

    def _all_of(self, expression: ast.expr, names: dict[str, Frame]) -> None:
        """Reads every chain of an expression, the inner ones of each first."""
        if isinstance(expression, _WITHOUT_CHAINS):
            return
        if isinstance(expression, ast.Attribute | ast.Call):
            self._frame(expression, names)
        for node in children(expression):
            if isinstance(expression, ast.Call) and node is expression.func and isinstance(node, ast.Attribute):
                node = node.value  # noqa: PLW2901 - the attribute itself is the call's own step
            if isinstance(node, ast.expr):
                self._all_of(node, names)
            elif isinstance(node, ast.keyword):
                self._all_of(node.value, names)

    def _frame(self, node: ast.expr, names: dict[str, Frame]) -> Frame | None:
        if id(node) not in self._seen:
            self._seen[id(node)] = self._read(node, names)
        return self._seen[id(node)]

    def _read(self, node: ast.expr, names: dict[str, Frame]) -> Frame | None:
        match node:
            case ast.Name() | ast.Attribute() if (key := _name(node)) in names:
                return names[str(key)]
            case ast.Attribute(value=value, attr=name):
                base = self._frame(value, names)
                if base is None:
                    return self._opened(node)
                return self._extended(base, Step(name, node))
            case ast.Call(func=ast.Attribute(value=value, attr=name)):
                base = self._frame(value, names)
                if base is None:
                    return self._called(node, name, names)
                others = tuple(filter(None, (self._frame(each, names) for each in _given(node))))
                return self._extended(base, Step(name, node, node, others))
            case ast.Call(func=ast.Name(id=name)):
                return self._called(node, name, names)
            case ast.IfExp(body=body):
                found = self._frame(body, names)
                return None if found is None else found.hidden(node)
            case ast.NamedExpr(target=target, value=value):
                frame = self._frame(value, names)
                self._assign(target, frame, names)
                return frame
        return None

    def _extended(self, base: Frame, step: Step) -> Frame | None:
        if base.started:
            return None
        self.used.append((base, step))
        return replace(base, steps=(*base.steps, step))

    @staticmethod
    def _opened(node: ast.Attribute) -> Frame | None:
        if node.attr not in _READERS:
            return None
        origin = Origin.STREAM if node.attr == "readStream" else Origin.BATCH
        return Frame(origin, (Step(node.attr, node),))

    def _called(self, node: ast.Call, name: str, names: dict[str, Frame]) -> Frame | None:
        """A call of a function, or of a method of something that is no frame: `dlt.read_stream(…)`, `clean(orders)`."""
        if name in _NAMED_STREAMS:
            return Frame(Origin.STREAM, (Step("read_stream", node, node),))
        function = self._functions.get(name)
        returned = None if function is None else self._returned(function, names)
        if returned is not None:
            return returned
        frame = next(filter(None, (self._frame(each, names) for each in _given(node))), None)
        return None if frame is None else frame.hidden(node)

    def _returned(self, function: ast.FunctionDef, names: dict[str, Frame]) -> Frame | None:
        """What a function of the script returns when it builds a frame by itself, from no parameter."""
        returned = self._results.get(function.name)
        if returned is None:
            returned = [
                each.value for each in walk(function) if isinstance(each, ast.Return) and each.value is not None
            ]
            self._results[function.name] = returned
        if len(returned) != 1 or function in self.batch_functions:
            return None
        inner = Frames(batch_functions=self.batch_functions)
        found = inner._frame(returned[0], inner._function(function, dict(names)))
        return found if found is not None and found.origin in {Origin.STREAM, Origin.BATCH} else None


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yields the expressions of a statement itself, not those of the statements in it."""
    for _, value in ast.iter_fields(statement):
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.expr):
                yield each
            elif isinstance(each, ast.withitem):
                yield each.context_expr


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yields the blocks of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
        yield part.body


def _given(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(each.value for each in node.keywords)]


def _name(node: ast.expr) -> str | None:
    """Returns `orders` or `self.orders`."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
            return f"self.{attribute}"
    return None
