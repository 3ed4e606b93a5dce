"""The properties of tables are those that Delta has, or the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.errors import PenstockError, did_you_mean
from penstock.graph.dataflow_graph import DataflowGraph

DELTA_PROPERTIES: Final = frozenset(
    {
        "delta.appendOnly",
        "delta.autoOptimize",
        "delta.autoOptimize.autoCompact",
        "delta.autoOptimize.optimizeWrite",
        "delta.castIcebergTimeType",
        "delta.checkpoint.writeStatsAsJson",
        "delta.checkpoint.writeStatsAsStruct",
        "delta.checkpointInterval",
        "delta.checkpointPolicy",
        "delta.checkpointRetentionDuration",
        "delta.columnMapping.maxColumnId",
        "delta.columnMapping.mode",
        "delta.compatibility.symlinkFormatManifest.enabled",
        "delta.coordinatedCommits.commitCoordinator-preview",
        "delta.coordinatedCommits.commitCoordinatorConf-preview",
        "delta.coordinatedCommits.tableConf-preview",
        "delta.dataSkippingNumIndexedCols",
        "delta.dataSkippingStatsColumns",
        "delta.dataSkippingStringPrefixLength",
        "delta.deletedFileRetentionDuration",
        "delta.dropFeatureTruncateHistory.retentionDuration",
        "delta.enableChangeDataCapture",
        "delta.enableChangeDataFeed",
        "delta.enableDeletionVectors",
        "delta.enableExpiredLogCleanup",
        "delta.enableFullRetentionRollback",
        "delta.enableIcebergCompatV1",
        "delta.enableIcebergCompatV2",
        "delta.enableIcebergCompatV3",
        "delta.enableInCommitTimestamps",
        "delta.enableMaterializePartitionColumnsFeature",
        "delta.enableRowTracking",
        "delta.enableTypeWidening",
        "delta.enableVariantShredding",
        "delta.ignoreIcebergBucketPartition",
        "delta.ignoreProtocolDefaults",
        "delta.inCommitTimestampEnablementTimestamp",
        "delta.inCommitTimestampEnablementVersion",
        "delta.isolationLevel",
        "delta.logRetentionDuration",
        "delta.minReaderVersion",
        "delta.minWriterVersion",
        "delta.parquet.format.version",
        "delta.randomPrefixLength",
        "delta.randomizeFilePrefixes",
        "delta.redirectReaderWriter-preview",
        "delta.redirectWriterOnly-preview",
        "delta.requireCheckpointProtectionBeforeVersion",
        "delta.rowTrackingSuspended",
        "delta.sampleRetentionDuration",
        "delta.setTransactionRetentionDuration",
        "delta.universalFormat.enabledFormats",
        "delta.universalFormat.iceberg.atomicConversion.supported",
        "delta.writePartitionColumnsToParquet",
    }
)
"""Those of Delta 4.4; a test compares them with Delta's own list."""

_KNOWN: Final = {name.casefold() for name in DELTA_PROPERTIES}
_FREE: Final = ("delta.feature.", "delta.constraints.")


def unknown_table_property(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports properties in Delta's namespace that Delta has not: it would refuse to create the table."""
    for table in graph.tables:
        for name in table.table_properties:
            folded = name.casefold()
            if folded.startswith("delta.") and not folded.startswith(_FREE) and folded not in _KNOWN:
                yield table.error(
                    "DELTA_UNKNOWN_CONFIGURATION",
                    name=table.identifier,
                    property=name,
                    suggestion=did_you_mean(name, sorted(DELTA_PROPERTIES)),
                )
