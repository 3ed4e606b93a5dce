"""What goes wrong in a source that is written in Python, on its way from a process of Spark's to the driver."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from penstock.errors import ConfigError, DataError, DefinitionError, ExternalError, PenstockError, StateError

_MARK: Final = "penstock source failure "
_FIX: Final = "Report it to the authors of the connector; 'penstock run' continues with the same batch"
DATA_LOSS: Final = "KINESIS_DATA_LOSS"
_KINDS: Final[dict[str, type[PenstockError]]] = {
    DATA_LOSS: StateError,
    "AVRO_NOT_INSTALLED": ConfigError,
    "CONNECTOR_FAILED": DefinitionError,
    "KINESIS_NOT_INSTALLED": ConfigError,
    "KINESIS_INVALID_OPTION": DefinitionError,
    "KINESIS_MISSING_OPTION": DefinitionError,
    "MESSAGE_UNDECODABLE": DataError,
    "SCHEMA_SUBJECT_UNKNOWN": DefinitionError,
}


class SourceFailure(Exception):
    """A condition and its facts, which survive as text: Spark passes on only what an exception of Python prints."""

    def __init__(self, condition: str, **facts: str) -> None:
        self.condition = condition
        self.facts = facts
        super().__init__(_MARK + json.dumps([condition, facts]))

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self.condition, self.facts)

    def error(self, dataset: str | None = None, flow: str | None = None) -> PenstockError:
        """Returns the error to raise on the driver, of the dataset and flow that read."""
        kind = _KINDS.get(self.condition, ExternalError)
        facts: dict[str, Any] = dict(self.facts)
        if self.condition == DATA_LOSS:
            facts |= {"flow": flow or "", "name": dataset or ""}
        return kind(self.condition, dataset=dataset, **facts)


class ConnectorError(SourceFailure):
    """What a connector raises when it knows what is wrong, on the driver or in a process of Spark's: no stack trace.

    Args:
        detail: What is wrong, in a sentence without secrets; a person reads it.
        fix: What to do about it, without a full stop; default: tell the authors.
        retry: Whether it may pass by itself: the batch is tried again, later and later. Default: yes.
        code: Whose connector it is, with which the message begins.
    """

    def __init__(self, detail: str, *, fix: str = _FIX, retry: bool = True, code: str = "A connector") -> None:
        condition = "CONNECTOR_INTERRUPTED" if retry else "CONNECTOR_FAILED"
        super().__init__(condition, code=f"{code[:1].upper()}{code[1:]}", detail=detail, way_out=fix)


def _again(condition: str, facts: dict[str, str]) -> SourceFailure:
    return SourceFailure(condition, **facts)


def parse_failure(messages: Iterable[str]) -> SourceFailure | None:
    """Returns the failure that the messages of an exception and its causes carry; None when they carry none."""
    for message in messages:
        _, found, payload = message.rpartition(_MARK)
        if found:
            (condition, facts), _ = json.JSONDecoder().raw_decode(payload)
            return SourceFailure(condition, **facts)
    return None


def failure_sql(condition: str, facts: str) -> str:
    """Returns SQL, a text, that fails the batch with a condition; `facts` is SQL for a struct of texts."""
    return f"raise_error(concat('{_MARK}[\"{condition}\", ', to_json({facts}), ']'))"
