"""A `format("kinesis")` read on the driver: checked, and known to Spark."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Final

from pyspark.sql import DataFrame

from penstock.connectors.kinesis.client import KinesisClient
from penstock.connectors.kinesis.options import DECLARED, KinesisOptions, parse_options
from penstock.connectors.kinesis.stream_reader import KinesisDataSource
from penstock.errors import ConfigError, DefinitionError
from penstock.spark.failures.python_sources import SourceFailure
from penstock.spark.sources.installed import Connector
from penstock.spark.sources.source import SourceRead
from penstock.spark.sources.stream_read import StreamRead


class KinesisSource:
    """A data source in Python on boto3."""

    options = DECLARED
    replayable = True

    def stream(self, read: SourceRead) -> DataFrame:
        """Returns the records as they come."""
        checked_options(read)
        read.register(KinesisDataSource)
        return read.load(read.name, {**read.options, **read.more_options(read.format)})

    def check(self, read: SourceRead) -> None:
        """Asks for the shards; see `check_streams`."""
        check_streams(checked_options(read))


CONNECTOR: Final = Connector(source=KinesisSource())


def checked_options(read: StreamRead) -> KinesisOptions:
    """Returns the options of a read; nothing is asked of Kinesis.

    Raises:
        DefinitionError: SOURCE_OPTION_UNKNOWN, SOURCE_OPTION_REFUSED, KINESIS_MISSING_OPTION, KINESIS_INVALID_OPTION.
        ConfigError: KINESIS_NOT_INSTALLED.
    """
    options = parse_options(read.options)
    if read.schema is not None:
        expected = "left out: the columns of a stream are always the same"
        raise DefinitionError("KINESIS_INVALID_OPTION", option=".schema(…)", value=str(read.schema), expected=expected)
    if importlib.util.find_spec("botocore") is None:
        raise ConfigError("KINESIS_NOT_INSTALLED")
    return options


def check_streams(options: KinesisOptions) -> None:
    """Makes sure that each stream can be listed; called before each start of a flow that reads it.

    A wrong name, wrong credentials or an endpoint that does not answer is so reported within seconds.

    Raises:
        DefinitionError: KINESIS_MISSING_OPTION for no region, KINESIS_INVALID_OPTION for one that cannot be.
        ExternalError: KINESIS_STREAM_NOT_FOUND, KINESIS_ACCESS_DENIED, KINESIS_TLS_FAILED; retried with backoff:
            KINESIS_UNREACHABLE, KINESIS_REQUEST_FAILED.
    """
    try:
        client = KinesisClient.connect(replace(options, retries=min(options.retries, 1)))
        for stream in options.streams:
            client.shards(stream)
    except SourceFailure as failure:
        raise failure.error() from failure
