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
    SourceLocation,
    StateError,
    StatementPosition,
    UpdateRefused,
    exhaustion,
)
from penstock.errors.catalogue import Condition, Retry, condition, conditions
from penstock.errors.render import did_you_mean, first_line, render, render_error_record

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
