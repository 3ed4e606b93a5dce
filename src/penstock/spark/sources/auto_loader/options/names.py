"""Every Auto Loader option by name: which ones work, which ones mean nothing here, which ones are refused and why."""

from __future__ import annotations

from typing import Final

from penstock.errors import DefinitionError

PREFIX: Final = "cloudFiles."
ALLOW_OVERWRITES: Final = "cloudFiles.allowOverwrites"
INFER_TYPES: Final = "cloudFiles.inferColumnTypes"
LEGACY_INFER_TYPES: Final = "cloudFiles.inferSchema"
BACKFILL_INTERVAL: Final = "cloudFiles.backfillInterval"
RESOURCE_TAG: Final = "cloudFiles.resourceTag"
SETTLE_TIME: Final = "cloudFiles.settleTime"
USE_INCREMENTAL_LISTING: Final = "cloudFiles.useIncrementalListing"

SETTLE_TIME_SETTING: Final = "spark.penstock.cloudFiles.settleTime"
"""Spark's setting for sources without that option."""

FORMATS: Final = ("avro", "binaryFile", "csv", "json", "orc", "parquet", "text", "xml")

# Spark has the reader itself; only its short name comes with another jar.
READERS: Final = {"avro": "org.apache.spark.sql.avro.AvroFileFormat"}

# Spark's JSON parser takes a longer text for malformed; its other XML parser gives, for a record that does not fit,
# the text of the whole file.
READER_DEFAULTS: Final = {"json": {"maxStringLen": "2147483647"}, "xml": {"useLegacyXMLParser": "true"}}

# Their columns are always the same ones.
FIXED_COLUMNS: Final = ("binaryFile", "text")

# Spark's readers of these take the columns that they are asked for and do not report what else a file has.
SILENT: Final = ("avro", "orc", "parquet", "xml")

# These can be read as one VARIANT a record.
AS_VARIANT: Final = ("csv", "json", "xml")

SUPPORTED: Final = (
    ALLOW_OVERWRITES,
    BACKFILL_INTERVAL,
    "cloudFiles.cleanSource",
    "cloudFiles.cleanSource.moveDestination",
    "cloudFiles.cleanSource.retentionDuration",
    "cloudFiles.format",
    "cloudFiles.includeExistingFiles",
    INFER_TYPES,
    "cloudFiles.maxBytesPerTrigger",
    "cloudFiles.maxFileAge",
    "cloudFiles.maxFilesPerTrigger",
    "cloudFiles.partitionColumns",
    "cloudFiles.rescuedDataColumn",
    "cloudFiles.schemaEvolutionMode",
    "cloudFiles.schemaHints",
    SETTLE_TIME,
    USE_INCREMENTAL_LISTING,
    "cloudFiles.validateOptions",
)

# Their effect is what happens here anyway: a start finds what came before it, with Spark's globs; the
# versions of a schema lie in the storage, so that a full refresh begins new ones; a run ends when it has cleaned.
WITHOUT_EFFECT: Final = (
    "cloudFiles.cleanSource.waitForCompletion",
    "cloudFiles.listOnStart",
    "cloudFiles.schemaLocation",
    "cloudFiles.useStrictGlobber",
)

_NOTIFICATIONS = "files are found by listing the folder; there is no notification queue"

# Refused unless the value is the one that switches the feature off.
REFUSED: Final[dict[str, tuple[str, str]]] = {
    "cloudFiles.useNotifications": ("false", _NOTIFICATIONS),
    "cloudFiles.useManagedFileEvents": ("false", _NOTIFICATIONS),
    "cleanSource": ("off", "it is Spark's, which does not wait for a retention; set cloudFiles.cleanSource"),
    "sourceArchiveDir": ("", "it is Spark's; set cloudFiles.cleanSource.moveDestination"),
    "readerCaseSensitive": ("true", "fields are matched by their exact name; other spellings go to the rescued data"),
    "badRecordsPath": ("", "malformed records are kept in the rescued data column"),
    "databricks.serviceCredential": ("", _NOTIFICATIONS),
} | {
    f"cloudFiles.{name}": ("", _NOTIFICATIONS)
    for name in (
        "fetchParallelism",
        "pathRewrites",
        "resourceTag",
        "queueUrl",
        "region",
        "awsAccessKey",
        "awsSecretKey",
        "roleArn",
        "roleExternalId",
        "roleSessionName",
        "stsEndpoint",
        "serviceCredential",
        "connectionString",
        "resourceGroup",
        "subscriptionId",
        "tenantId",
        "clientId",
        "clientSecret",
        "queueName",
        "client",
        "clientEmail",
        "privateKey",
        "privateKeyId",
        "project",
        "projectId",
        "subscription",
    )
}

# Secrets among the refused options: their values are never repeated in an error.
SECRET_WORDS: Final = ("secret", "key", "connectionstring", "password", "token")

# Read here, and not by Spark's reader.
CONSUMED: Final = (
    "rescuedDataColumn",
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "maxFileAge",
    "modifiedAfter",
    "modifiedBefore",
    "path",
    "inferSchema",
    "singleVariantColumn",
)


def invalid(option: str, value: str, expected: str) -> DefinitionError:
    """Returns AUTO_LOADER_INVALID_OPTION: the value of an option, and what it should be, in words."""
    return DefinitionError("AUTO_LOADER_INVALID_OPTION", option=option, value=value, expected=expected)


def is_resource_tag(option: str) -> bool:
    """Whether it is one of the options `cloudFiles.resourceTag.<key>`, whose keys are the user's."""
    return option.casefold().startswith(f"{RESOURCE_TAG}.".casefold())
