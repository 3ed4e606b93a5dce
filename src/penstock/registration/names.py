"""Names of datasets in a catalog that has fewer parts than theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from penstock.errors import DefinitionError
from penstock.graph.identifier import Identifier
from penstock.registration.catalog import Catalog


def name_clashes(catalog: Catalog, datasets: Iterable[Identifier]) -> dict[Identifier, DefinitionError]:
    """Returns the error of each dataset whose name in the catalog is another dataset's, too: neither is registered."""
    by_name: dict[str, list[Identifier]] = defaultdict(list)
    for identifier in sorted(datasets):
        by_name[catalog.name_of(identifier)].append(identifier)
    return {
        identifier: DefinitionError(
            "REGISTRATION_NAME_CLASH",
            dataset=str(identifier),
            catalog=catalog.name,
            table=name,
            datasets=" and ".join(map(str, sharing)),
        )
        for name, sharing in by_name.items()
        if len(sharing) > 1
        for identifier in sharing
    }
