"""The arguments of a table function: constants, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.errors import DefinitionError, StatementPosition, did_you_mean
from penstock.graph.sql.names import quoted
from penstock.spark import _jvm

Constant = Callable[[str], Any]
"""Returns the value of a constant SQL expression."""


@dataclass(frozen=True, slots=True)
class Argument:
    """`name` is None for a positional argument; `offset` is its place in the statement.

    `value` is what Spark makes of the constant: a map is a dict, a number may come as its text. It is a TableName
    where the argument is `TABLE(name)`.
    """

    name: str | None
    value: Any
    offset: int


@dataclass(frozen=True, slots=True)
class TableName:
    """The value of an argument `TABLE(name)`."""

    name: str


def evaluate(
    expressions: Iterable[Any], names: Mapping[str, int], statement: str, offset: int, constant: Constant
) -> list[Argument]:
    """Returns the arguments of a call that is at `offset` of `statement`; `names` says where named ones are.

    Raises:
        DefinitionError: TABLE_FUNCTION_ARGUMENT_INVALID, for one that is no constant.
    """
    found = []
    for position, expression in enumerate(expressions, start=1):
        name, value = None, expression
        if expression.getClass().getSimpleName() == "NamedArgumentExpression":
            name, value = str(expression.key()), expression.value()
        start, stop = _extent(value)
        place = names.get((name or "").casefold(), offset if start is None else start)
        try:
            found.append(
                Argument(name, _value(value, statement[start:stop] if start is not None else "", constant), place)
            )
        except (PySparkException, Py4JError) as error:
            raise DefinitionError(
                "TABLE_FUNCTION_ARGUMENT_INVALID",
                argument=name or f"number {position}",
                reason="is not a constant",
                expected="a literal, or an expression of literals",
            ).at(StatementPosition.of(statement, place)) from error
    return found


class Arguments:
    """The arguments of one call under the names of the function's parameters; names regard no case."""

    def __init__(
        self, function: str, statement: str, offset: int, arguments: Iterable[Argument], positional: tuple[str, ...]
    ) -> None:
        self.function = function
        self._statement, self._offset = statement, offset
        self._by_name: dict[str, Argument] = {}
        names = list(positional)
        for argument in arguments:
            if argument.name is None and not names:
                raise self.invalid(argument, "is one too many", f"at most {len(positional)} arguments without a name")
            name = names.pop(0) if argument.name is None else argument.name
            if name in names:
                names.remove(name)
            named = Argument(name, argument.value, argument.offset)
            if name.casefold() in self._by_name:
                raise self.invalid(named, "is given twice", "one value")
            self._by_name[name.casefold()] = named

    def take(self, name: str) -> Argument | None:
        """Returns an argument, which then is no longer among the options; None when it is not given or NULL."""
        argument = self._by_name.pop(name.casefold(), None)
        return None if argument is None or argument.value is None else argument

    def text(self, name: str) -> str | None:
        """Takes an argument that is a string."""
        argument = self.take(name)
        if argument is None:
            return None
        if isinstance(argument.value, (bool, int, dict, TableName)):
            raise self.invalid(argument, "is not a string", "a string")
        return str(argument.value)

    def choice(self, name: str, values: tuple[str, ...]) -> str | None:
        """Takes a string that is one of `values` in any case of letters, and returns it as it is there."""
        argument = self._by_name.get(name.casefold())
        given = self.text(name)
        found = next((value for value in values if given is not None and value.casefold() == given.casefold()), None)
        if given is not None and found is None and argument is not None:
            suggestion = did_you_mean(given, values)
            raise self.invalid(
                argument, f"is not known. {suggestion}".strip().rstrip("."), f"one of {', '.join(values)}"
            )
        return found

    def required(self, name: str, example: str) -> str:
        """Takes a string that must be given.

        Raises:
            DefinitionError: TABLE_FUNCTION_ARGUMENT_MISSING.
        """
        text = self.text(name)
        if text is None:
            raise DefinitionError(
                "TABLE_FUNCTION_ARGUMENT_MISSING",
                function=self.function,
                argument=name,
                example=example,
            ).at(StatementPosition.of(self._statement, self._offset))
        return text

    def mapping(self, name: str) -> dict[str, str]:
        """Takes an argument that is a map of options."""
        argument = self.take(name)
        if argument is None:
            return {}
        if not isinstance(argument.value, dict):
            raise self.invalid(argument, "is not a map", "map('option', 'value', …)")
        return {str(key): option_text(value) for key, value in argument.value.items() if value is not None}

    def options(self, known: Iterable[str] | None = None, prefix: str = "") -> dict[str, str]:
        """Returns all arguments that were not taken, as the options of a reader; NULL means not given.

        Names outside `known` are refused, but for those that begin with `prefix`.

        Raises:
            DefinitionError: TABLE_FUNCTION_UNKNOWN_ARGUMENT, TABLE_FUNCTION_ARGUMENT_INVALID.
        """
        names = None if known is None else {name.casefold(): name for name in known}
        found = {}
        for folded, argument in self._by_name.items():
            name = str(argument.name)
            if names is not None and folded not in names and not (prefix and folded.startswith(prefix)):
                raise DefinitionError(
                    "TABLE_FUNCTION_UNKNOWN_ARGUMENT",
                    function=self.function,
                    argument=name,
                    suggestion=did_you_mean(name, names.values()),
                ).at(StatementPosition.of(self._statement, argument.offset))
            if isinstance(argument.value, (dict, TableName)):
                kind = "map" if isinstance(argument.value, dict) else "table"
                raise self.invalid(argument, f"is a {kind}", "a string, a number or a boolean")
            if argument.value is not None:
                found[name if names is None else names.get(folded, name)] = option_text(argument.value)
        return found

    def invalid(self, argument: Argument, reason: str, expected: str) -> DefinitionError:
        """Returns the error for a value that does not do; it does not repeat the value, which may be a secret."""
        return DefinitionError(
            "TABLE_FUNCTION_ARGUMENT_INVALID",
            argument=f"{argument.name or 'last'} of {self.function}",
            reason=reason,
            expected=expected,
        ).at(StatementPosition.of(self._statement, argument.offset))


def option_text(value: Any) -> str:
    """Returns the value of an option as Spark's readers take it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value(expression: Any, text: str, constant: Constant) -> Any:
    kind = expression.getClass().getSimpleName()
    if kind == "Literal":
        value = expression.value()
        return value if value is None or isinstance(value, (bool, int, float, str)) else str(value.toString())
    if kind == "UnresolvedFunction" and _is_map(expression):
        parts = [_value(each, "", constant) for each in _jvm.scala_seq(expression.arguments())]
        return dict(zip(parts[::2], parts[1::2], strict=False))
    if kind == "FunctionTableSubqueryArgumentExpression":
        table = expression.plan()
        if table.getClass().getSimpleName() == "UnresolvedRelation":
            return TableName(".".join(map(quoted, map(str, _jvm.scala_seq(table.multipartIdentifier())))))
    return constant(text)


def _is_map(expression: Any) -> bool:
    """Whether this is `map(…)` of literals only, which needs no evaluation by Spark."""
    names = [str(part).casefold() for part in _jvm.scala_seq(expression.nameParts())]
    inside = _jvm.scala_seq(expression.arguments())
    return (
        names == ["map"]
        and len(inside) % 2 == 0
        and all(each.getClass().getSimpleName() == "Literal" for each in inside)
    )


def _extent(expression: Any) -> tuple[int | None, int | None]:
    start, stop = expression.origin().startIndex(), expression.origin().stopIndex()
    if start.isEmpty() or stop.isEmpty():
        return None, None
    return int(start.get()), int(stop.get()) + 1
