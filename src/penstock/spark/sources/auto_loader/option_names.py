"""Every Auto Loader option by name: which ones work, which ones mean nothing here, which ones are refused and why."""

from __future__ import annotations

from typing import Final

PREFIX: Final = "cloudFiles."

FORMATS: Final = ("csv", "json", "parquet", "text")

SUPPORTED: Final = (
    "cloudFiles.format",
    "cloudFiles.includeExistingFiles",
    "cloudFiles.inferColumnTypes",
    "cloudFiles.maxBytesPerTrigger",
    "cloudFiles.maxFileAge",
    "cloudFiles.maxFilesPerTrigger",
    "cloudFiles.partitionColumns",
    "cloudFiles.rescuedDataColumn",
    "cloudFiles.schemaEvolutionMode",
    "cloudFiles.schemaHints",
    "cloudFiles.validateOptions",
)

# Their effect is what happens here anyway: every trigger lists the whole folder, with Spark's globs,
# and the versions of a schema lie in the storage, so that a full refresh begins new ones.
WITHOUT_EFFECT: Final = (
    "cloudFiles.backfillInterval",
    "cloudFiles.schemaLocation",
    "cloudFiles.useIncrementalListing",
    "cloudFiles.useStrictGlobber",
)

_NOTIFICATIONS = "files are found by listing the folder; there is no notification queue"
_CLEANING = "Penstock never moves or deletes source files"

# Refused unless the value is the one that switches the feature off.
REFUSED: Final[dict[str, tuple[str, str]]] = {
    "cloudFiles.useNotifications": ("false", _NOTIFICATIONS),
    "cloudFiles.useManagedFileEvents": ("false", _NOTIFICATIONS),
    "cloudFiles.allowOverwrites": (
        "false",
        "a path is read once, so that no row comes twice; write changed files under a new name",
    ),
    "cloudFiles.cleanSource": ("off", _CLEANING),
    "cleanSource": ("off", _CLEANING),
    "cloudFiles.cleanSource.retentionDuration": ("", _CLEANING),
    "cloudFiles.cleanSource.moveDestination": ("", _CLEANING),
    "cloudFiles.cleanSource.waitForCompletion": ("false", _CLEANING),
    "readerCaseSensitive": ("true", "fields are matched by their exact name; other spellings go to the rescued data"),
    "singleVariantColumn": (
        "",
        "read the files with format('json') and singleVariantColumn, or let the columns be inferred",
    ),
    "badRecordsPath": ("", "malformed records are kept in the rescued data column"),
    "modifiedAfter": (
        "",
        "Spark's streaming file source has no time filter; filter on _metadata.file_modification_time",
    ),
    "modifiedBefore": (
        "",
        "Spark's streaming file source has no time filter; filter on _metadata.file_modification_time",
    ),
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
        "projectId",
        "subscription",
    )
}

# Secrets among the refused options: their values are never repeated in an error.
SECRET_WORDS: Final = ("secret", "key", "connectionstring", "password", "token")

# Read here, and not by Spark's reader.
CONSUMED: Final = ("rescuedDataColumn", "maxFilesPerTrigger", "maxBytesPerTrigger", "maxFileAge", "path", "inferSchema")
