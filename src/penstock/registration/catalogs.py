"""The catalogs of a pipeline file, and what becomes of a table's entries when the table is dropped."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.config import PipelineConfig, UnityCatalogServer
from penstock.errors import PenstockError
from penstock.graph.identifier import Identifier
from penstock.registration.catalog import Catalog
from penstock.registration.hive.catalog import HiveCatalog
from penstock.registration.table import Owner
from penstock.registration.unity.catalog import UnityCatalog


def catalogs_of(config: PipelineConfig) -> tuple[Catalog, ...]:
    """Returns them in the order of the file."""
    return tuple(
        UnityCatalog(settings, config.catalog)
        if isinstance(settings, UnityCatalogServer)
        else HiveCatalog(settings, config.catalog)
        for settings in config.catalogs
    )


def remove_entries(config: PipelineConfig, identifier: Identifier) -> Iterator[str | PenstockError]:
    """Removes the entries of a table whose files are deleted; yields the name of each, or why it could not be."""
    for catalog in catalogs_of(config):
        try:
            with catalog.connect() as session:
                if session.remove(identifier, Owner(config.name, config.storage)):
                    yield f"{catalog.name}: {catalog.name_of(identifier)}"
        except PenstockError as error:
            yield error
