"""Table properties of Databricks that open-source Delta refuses, and that change no row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from penstock.errors import DefinitionError
from penstock.graph.elements import Table

_FILE_SIZES: Final = ("how large files become is not set for one table", "Remove it")
_CATALOG_COMMITS: Final = ("commits of a table are files in its log, not calls of a catalog", "Remove it")
_WITHOUT_EFFECT: Final = {
    "delta.targetFileSize": _FILE_SIZES,
    "delta.tuneFileSizesForRewrites": _FILE_SIZES,
    "delta.parquet.compression.codec": (
        "the compression is a setting of Spark",
        "Set spark.sql.parquet.compression.codec in spark_conf",
    ),
    "delta.feature.catalogManaged": _CATALOG_COMMITS,
    "delta.feature.catalogOwned": _CATALOG_COMMITS,
    "delta.feature.catalogOwned-preview": _CATALOG_COMMITS,
    "delta.feature.clustering": ("Delta switches it on for a table with clustering columns", "Name them in cluster_by"),
}
_AUTO_COMPACT: Final = "delta.autooptimize.autocompact"
_BY_NAME: Final = {name.casefold(): (name, *why) for name, why in _WITHOUT_EFFECT.items()}


def without_databricks_properties(table: Table) -> tuple[Table, list[DefinitionError]]:
    """Returns the table with properties that Delta takes, and a notice for each that is left out."""
    left_out = [found for name in table.table_properties if (found := _BY_NAME.get(name.casefold())) is not None]
    properties = dict(_accepted(table))
    if properties == table.table_properties:
        return table, []
    notices = [
        DefinitionError(
            "DECLARATION_WITHOUT_EFFECT",
            location=table.location,
            dataset=str(table.identifier),
            name=name,
            reason=reason,
            alternative=alternative,
        )
        for name, reason, alternative in left_out
    ]
    return replace(table, table_properties=properties), notices


def _accepted(table: Table) -> Iterator[tuple[str, str]]:
    for name, value in table.table_properties.items():
        if name.casefold() == _AUTO_COMPACT and value.casefold() in {"auto", "legacy"}:
            yield name, "true"  # Delta's only way of compacting behind a write
        elif name.casefold() not in _BY_NAME:
            yield name, value
