"""What can go wrong, by name: the condition catalogue, the error classes and how an error is shown."""

from penstock.errors.base import (
    ConfigError,
    DataError,
    DefinitionError,
    ExternalError,
    InternalError,
    PenstockError,
    PipelineInvalid,
    SeveralErrors,
    StateError,
    UpdateRefused,
)
from penstock.errors.catalogue import Condition, Retry, condition, conditions
from penstock.errors.exhaustion import exhaustion
from penstock.errors.location import SourceLocation, StatementPosition
from penstock.errors.render import first_line, render, render_error_record
from penstock.errors.suggest import did_you_mean

__all__ = [
    "Condition",
    "ConfigError",
    "DataError",
    "DefinitionError",
    "ExternalError",
    "InternalError",
    "PenstockError",
    "PipelineInvalid",
    "Retry",
    "SeveralErrors",
    "SourceLocation",
    "StateError",
    "StatementPosition",
    "UpdateRefused",
    "condition",
    "conditions",
    "did_you_mean",
    "exhaustion",
    "first_line",
    "render",
    "render_error_record",
]
