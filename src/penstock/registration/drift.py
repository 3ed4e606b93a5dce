"""What catalogs have otherwise than the pipeline: asked of them, without a run and without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.config import PipelineConfig
from penstock.errors import PenstockError, StateError
from penstock.events.flows.facts import details_of
from penstock.events.log.reader import read_events
from penstock.events.types import EventType
from penstock.graph.identifier import Identifier
from penstock.observe.stored.tables import list_tables
from penstock.registration.catalog import Catalog
from penstock.registration.catalogs import catalogs_of
from penstock.registration.names import name_clashes
from penstock.registration.table import Owner, read_registration


def registration_drift(config: PipelineConfig) -> Iterator[PenstockError]:
    """Yields what is wrong with the entries of the tables of the newest update, in each catalog.

    That is REGISTRATION_OUTDATED, TABLE_REGISTERED_BY_ANOTHER, REGISTRATION_NAME_CLASH, TABLE_NOT_REGISTERED,
    TABLE_REGISTRATION_FAILED, TABLE_NOT_READABLE, or CATALOG_NOT_REACHABLE once for a catalog. Changes nothing.
    """
    if not config.catalogs:
        return
    tables = _declared_tables(config.storage)
    for catalog in catalogs_of(config):
        try:
            yield from _drift(catalog, tables, Owner(config.name, config.storage))
        except PenstockError as away:
            yield away


def _declared_tables(storage: str) -> Mapping[Identifier, str]:
    definitions = list(read_events(storage, types=[EventType.DATASET_DEFINITION]))
    newest = definitions[-1].origin.update_id if definitions else None
    declared = {
        Identifier.recorded(str(details_of(each).get("dataset")))
        for each in definitions
        if each.origin.update_id == newest and details_of(each).get("dataset_type") != "VIEW"
    }
    return {each.identifier: each.uri for each in list_tables(storage, definitions) if each.identifier in declared}


def _drift(catalog: Catalog, tables: Mapping[Identifier, str], owner: Owner) -> Iterator[PenstockError]:
    clashes = name_clashes(catalog, tables)
    yield from clashes.values()
    with catalog.connect() as session:
        for identifier, location in tables.items():
            if identifier in clashes:
                continue
            try:
                table = read_registration(identifier, location, owner)
                found = () if table is None else session.differences(table)
            except PenstockError as error:
                yield error
                continue
            if found:
                yield StateError(
                    "REGISTRATION_OUTDATED",
                    dataset=str(identifier),
                    catalog=catalog.name,
                    table=catalog.name_of(identifier),
                    differences=", ".join(found),
                )
