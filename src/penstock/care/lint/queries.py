"""The streaming queries that a script starts: where each one writes, how often, and with which options."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

from penstock.care.lint.constants import Constants
from penstock.care.lint.frames import STARTS, Frame, Step

FILE_FORMATS: Final = {"parquet", "json", "csv", "orc", "text", "avro", "xml"}
"""Of sources and sinks that are plain files."""

NOT_STORED: Final = {"console", "memory", "noop", "rate"}
"""Sinks that keep nothing, so that nothing is lost with their checkpoint."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query.

    Attributes:
        frame: what is written, as it is before `writeStream`.
        settings: the steps from `writeStream` to the start.
        constants: of the script.
    """

    frame: Frame
    settings: tuple[Step, ...]
    constants: Constants

    @property
    def start(self) -> Step:
        """The call that starts it."""
        return self.settings[-1]

    @property
    def complete(self) -> bool:
        """Whether all options are known: none comes from a function, or a dictionary that only the run has."""
        return known_options(self.settings)

    @property
    def sink(self) -> str | None:
        """The format, in lower case; `foreach` and `foreachBatch` for functions; None when it is not known."""
        for step in reversed(self.settings):
            if step.name in {"foreach", "foreachBatch"}:
                return step.name
            if step.name == "format":
                text = self.constants.text(step.argument(0, "source"))
                return None if text is None else text.casefold()
        given = self.constants.text(self.start.argument(1, "format"))
        return given.casefold() if given else "delta" if self.start.name in {"toTable", "table"} else "parquet"

    @property
    def mode(self) -> str | None:
        """The output mode in lower case, `append` when none is given; None when it is not known."""
        step = self.step("outputMode")
        given = self.start.argument(2, "outputMode") if step is None else step.argument(0, "outputMode")
        if step is None and given is None:
            return "append"
        value = self.constants.of(given)
        return value.casefold() if isinstance(value, str) else None

    @property
    def trigger(self) -> Step | None:
        """The step `trigger`."""
        return self.step("trigger")

    @property
    def target(self) -> str:
        """The code that says where it writes: a path, a table, a topic, a function."""
        where = self.start.argument(0, "path" if self.start.name == "start" else "tableName")
        others = [self.option(name) for name in ("path", "topic", "kafka.bootstrap.servers")]
        function = self.step("foreachBatch") or self.step("foreach")
        nodes = [where, *others, *([] if function is None else function.arguments)]
        return " ".join(ast.unparse(node) for node in nodes if node is not None)

    def step(self, name: str) -> Step | None:
        """Returns the last of the settings of that name."""
        return next((step for step in reversed(self.settings) if step.name == name), None)

    def option(self, name: str) -> ast.expr | None:
        """Returns the value of an option, whose name is compared without regard to case."""
        return option_of(self.settings, name, self.constants)


def queries_of(writes: list[Frame], constants: Constants) -> list[Query]:
    """Returns the queries of the chains that end in a start."""
    found = []
    for chain in writes:
        writer = next(number for number, step in enumerate(chain.steps) if step.name == "writeStream")
        frame = chain.before(chain.steps[writer])
        found.append(Query(frame, chain.steps[writer + 1 :], constants))
    return found


def known_options(steps: tuple[Step, ...]) -> bool:
    """Whether every option that a reader or a writer is given is in its chain."""
    keywords = [each for step in steps if step.call is not None for each in step.call.keywords]
    spread = any(each.arg is None and not isinstance(each.value, ast.Dict) for each in keywords)
    return not spread and all(step.followed for step in steps)


def option_of(steps: tuple[Step, ...], name: str, constants: Constants) -> ast.expr | None:
    """Returns the value that a reader or a writer is given for an option, the last one; None for none."""
    found: ast.expr | None = None
    for step in steps:
        if step.call is None:
            continue
        if step.name == "option":
            key = constants.of(step.argument(0, "key"))
            if isinstance(key, str) and key.casefold() == name.casefold():
                found = step.argument(1, "value")
        elif step.name == "options" or step.name in STARTS or step.name == "load":
            for keyword in step.call.keywords:
                if keyword.arg is not None and keyword.arg.casefold() == name.casefold():
                    found = keyword.value
                elif keyword.arg is None and isinstance(keyword.value, ast.Dict):
                    for key_node, value in zip(keyword.value.keys, keyword.value.values, strict=True):
                        key = constants.of(key_node)
                        if isinstance(key, str) and key.casefold() == name.casefold():
                            found = value
    return found
