"""Table functions of Databricks that this version refuses, each with the reason and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from pyspark.sql import DataFrame

from penstock.errors import DefinitionError
from penstock.spark.sql.functions.table_function import TableFunction, TableFunctionCall

_EVENTS = "Read the events with 'penstock events', or with 'penstock sql' from the view event_log"

_REFUSED: Final[Mapping[str, tuple[str, str]]] = {
    "read_pubsub": (
        "there is no open source connector for Pub/Sub on this version of Spark",
        "Let a Pub/Sub subscription write files to Cloud Storage and read them with STREAM read_files(…)",
    ),
    "read_pulsar": (
        "there is no open source connector for Pulsar on this version of Spark",
        "Use Pulsar's Kafka protocol handler (KoP) and STREAM read_kafka(…)",
    ),
    "cloud_files_state": (
        "a pipeline does not read its own checkpoints",
        "Ask 'penstock sql' for cloud_files_state(TABLE(name)), or select _metadata.file_path into the table",
    ),
    "event_log": ("a pipeline does not read its own event log", _EVENTS),
}


def _refuse(reason: str, alternative: str, call: TableFunctionCall) -> DataFrame:
    raise DefinitionError("UNSUPPORTED_TABLE_FUNCTION", name=call.name, reason=reason, alternative=alternative).at(
        call.position
    )


UNSUPPORTED_FUNCTIONS: Mapping[str, TableFunction] = {
    name: partial(_refuse, reason, alternative) for name, (reason, alternative) in _REFUSED.items()
}
