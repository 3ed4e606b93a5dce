"""Options and texts in SQL: of sources, and what stands in the code that should not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.care.lint.constants import GAP
from penstock.care.lint.rules.sources import is_mount
from penstock.care.lint.sql.found import SqlCheck, SqlFound, found_at
from penstock.care.lint.sql.queries import Group, Item, groups_in, is_word
from penstock.care.lint.sql.statements import SqlStatement
from penstock.declare.sql.statements import SetParameter
from penstock.errors.secret_names import is_secret
from penstock.graph.sql.tokens import Token, TokenKind, string_value

_KAFKA: Final = "read_kafka"
_FILES: Final = {"read_files", "cloud_files"}
_PROPERTIES: Final = {"OPTIONS", "TBLPROPERTIES"}


@dataclass(frozen=True, slots=True)
class _Option:
    """One option; `value` is None for what is no literal, `function` the name before the parenthesis it stands in."""

    name: str
    value: str | None
    token: Token
    function: str


def _options(statement: SqlStatement) -> Iterator[_Option]:
    """Yields `name => value` of functions, pairs of `map`, and those of OPTIONS and TBLPROPERTIES."""
    for level, position in groups_in(statement.items):
        group, before = level[position], level[position - 1] if position else None
        assert isinstance(group, Group)
        function = before.text.casefold() if isinstance(before, Token) else ""
        for argument in _arguments(group.items):
            yield from _named(argument, function)
        if function == "map":
            yield from _pairs(group)
        elif is_word(before, *_PROPERTIES):
            for argument in _arguments(group.items):
                given = [each for each in argument if isinstance(each, Token) and each.text != "="]
                if len(given) > 1 and given[-1].kind is TokenKind.STRING:
                    name = "".join(_text(each) or each.text for each in given[:-1])
                    yield _Option(name, _text(given[-1]), given[-1], function)


def _named(argument: Sequence[Item], function: str) -> Iterator[_Option]:
    match [each.text if isinstance(each, Token) else "" for each in argument]:
        case [_, "=", ">", _, *_]:
            name, value = argument[0], argument[3]
            if isinstance(name, Token) and isinstance(value, Token):
                literal = _text(value) if len(argument) == 4 else None
                yield _Option(_text(name) or name.text.strip("`"), literal, value, function)


def _pairs(group: Group) -> Iterator[_Option]:
    arguments = _arguments(group.items)
    for key, value in zip(arguments[::2], arguments[1::2], strict=False):
        match key, value:
            case [Token() as name], [Token() as given, *more] if (text := _text(name)) is not None:
                yield _Option(text, None if more else _text(given), given, "map")


def _arguments(items: Sequence[Item]) -> list[list[Item]]:
    found: list[list[Item]] = [[]]
    for item in items:
        if isinstance(item, Token) and item.text == ",":
            found.append([])
        else:
            found[-1].append(item)
    return found


def _text(token: Token) -> str | None:
    """Returns the value of a literal."""
    if token.kind is TokenKind.STRING:
        return string_value(token)
    return token.text if token.kind is TokenKind.NUMBER or is_word(token, "TRUE", "FALSE") else None


def _each(statements: Sequence[SqlStatement]) -> Iterator[tuple[SqlStatement, _Option]]:
    for statement in statements:
        for option in _options(statement):
            yield statement, option


def _latest(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement, option in _each(statements):
        if option.function == _KAFKA and option.name.casefold() == "startingoffsets" and option.value == "latest":
            yield found_at(statement, option.token, "a Kafka stream that starts at `latest`")


def _loss(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement, option in _each(statements):
        if option.name.casefold() == "failondataloss" and (option.value or "").casefold() == "false":
            yield found_at(statement, option.token, "`failOnDataLoss` is false")


def _group(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement, option in _each(statements):
        if option.function == _KAFKA and option.name.casefold() in {"groupid", "kafka.group.id"}:
            yield found_at(statement, option.token, f"`{option.name}` is set")


def _unbounded(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement in statements:
        for level, position in groups_in(statement.items):
            name, group = level[position - 1] if position else None, level[position]
            streaming = position > 1 and is_word(level[position - 2], "STREAM")
            if not (streaming and is_word(name, _KAFKA.upper()) and isinstance(group, Group)):
                continue
            options = [each for argument in _arguments(group.items) for each in _named(argument, _KAFKA)]
            given = {each.name.casefold(): each.value for each in options}
            if given.get("startingoffsets") == "earliest" and "maxoffsetspertrigger" not in given:
                evidence = "a kafka stream from its beginning without `maxOffsetsPerTrigger`"
                yield found_at(statement, group.start, evidence)


def _inferred(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement in statements:
        match statement.declared:
            case SetParameter(key="spark.sql.streaming.schemaInference", value=str(value)):
                if value.casefold() == "true":
                    yield found_at(statement, statement.tokens[0], "`spark.sql.streaming.schemaInference` is on")


def _one_place(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    first: dict[str, str] = {}
    for statement in statements:
        for option in _options(statement):
            if option.name.casefold().removeprefix("cloudfiles.") != "schemalocation" or option.value is None:
                continue
            read = _path(statement)
            if first.setdefault(option.value.rstrip("/"), read) != read:
                yield found_at(statement, option.token, f"`{option.value}` is also that of another stream")


def _path(statement: SqlStatement) -> str:
    """Returns what the first function that reads files is given first."""
    for level, position in groups_in(statement.items):
        name, group = level[position - 1] if position else None, level[position]
        if isinstance(name, Token) and name.text.casefold() in _FILES and isinstance(group, Group):
            return " ".join(each.text for each in _arguments(group.items)[0] if isinstance(each, Token))
    return ""


def _mounts(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement in statements:
        for token in statement.tokens:
            text = _text(token) if token.kind is TokenKind.STRING else token.text.strip("`")
            if token.kind in {TokenKind.STRING, TokenKind.QUOTED_NAME} and text is not None and is_mount(text):
                yield found_at(statement, token, f"`{text.replace(GAP, '…')}`")


def _secrets(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement, option in _each(statements):
        if option.value is not None and GAP not in option.value and is_secret(option.name, option.value):
            yield found_at(statement, option.token, f"the value of `{option.name}` stands in the code")
    for statement in statements:
        match statement.declared:
            case SetParameter(key=key, value=str(value)) if is_secret(key, value.strip("'\"")):
                yield found_at(statement, statement.tokens[0], f"the value of `{key}` stands in the code")


CHECKS: Final[dict[str, SqlCheck]] = {
    "kafka-starts-latest": _latest,
    "data-loss-ignored": _loss,
    "kafka-group-fixed": _group,
    "first-batch-unbounded": _unbounded,
    "schema-inferred": _inferred,
    "schema-location-shared": _one_place,
    "mount-path": _mounts,
    "secret-in-clear": _secrets,
}
