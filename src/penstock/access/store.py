"""The record of grants in a storage: a chain of GRANT and REVOKE, whose replay is what holds now.

`<storage>/grants/<n>.jsonl`, in the form of the record of reads: who, when and from where is in each line, nothing is
ever replaced, and a process that dies leaves a change whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from penstock.access.grants import SELECT, Access, Grants, Securable
from penstock.access.statements import ChangeGrant
from penstock.config.pipeline_config import PipelineConfig
from penstock.config.sections.access import AccessSettings
from penstock.errors import StateError
from penstock.events.flows.facts import details_of
from penstock.events.log.action_chain import ActionChain
from penstock.events.log.audit import Actor, RecordedAction, user_action
from penstock.storage import Storage, StorageLayout

GRANT: Final = "GRANT"
REVOKE: Final = "REVOKE"


def access_of(storage_uri: str, settings: AccessSettings) -> Access:
    """Returns who may read which tables: the grants of a storage, with the roles of a pipeline file.

    Raises:
        StateError: GRANTS_DAMAGED.
        ConfigError, ExternalError: the storage cannot be read.
    """
    return Access(read_grants(storage_uri), settings.roles, settings.default_deny, settings.event_table)


def read_grants(storage_uri: str) -> Grants:
    """Returns what the record of grants adds up to; nothing is granted where there is none.

    Raises:
        StateError: GRANTS_DAMAGED, a line was changed, taken out or put in.
        ConfigError, ExternalError: the storage cannot be read.
    """
    grants = Grants()
    for action in recorded_grants(storage_uri):
        arguments = {} if action.event is None else details_of(action.event).get("arguments")
        if action.event is None or action.tampering is not None or not isinstance(arguments, Mapping):
            wrong = action.tampering.value if action.tampering is not None else "cannot be read"
            raise StateError("GRANTS_DAMAGED", storage=storage_uri, wrong=wrong)
        granted = details_of(action.event).get("action") == GRANT
        parts = (arguments.get("catalog"), arguments.get("schema"), arguments.get("table"))
        grants = grants.with_change(Securable(*parts), str(arguments.get("principal")), granted=granted)
    return grants


def record_grant(config: PipelineConfig, change: ChangeGrant, *, by: Actor | None = None) -> None:
    """Appends a GRANT or REVOKE; it is on the disk when this returns.

    Raises:
        ConfigError, ExternalError: the storage cannot be written.
    """
    on = change.securable
    arguments = {
        "privilege": SELECT,
        "principal": change.principal,
        "on": f"{on.kind} {on}",
        "catalog": on.catalog,
        "schema": on.schema,
        "table": on.table,
        "tables": [str(on)],
    }
    chain = _chain(config.storage)
    chain.append(config.name, *user_action(GRANT if change.granted else REVOKE, by=by, arguments=arguments))
    chain.storage.sync(chain.folder)


def recorded_grants(storage_uri: str) -> Iterator[RecordedAction]:
    """Yields each GRANT and REVOKE, oldest first, each with what is wrong with it.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED, STORAGE_EXTRA_MISSING.
    """
    return _chain(storage_uri).actions()


def shown_grants(access: Access, principal: str | None, securable: Securable | None) -> list[tuple[str, ...]]:
    """Returns the rows of SHOW GRANTS: principal, privilege, kind and name of the securable, in this order.

    Of a securable come the grants on its schema and its catalog, too; of a user those of the user's roles.
    """
    wanted: Iterable[str] | None = None if principal is None else {principal, *access.principals(principal)}
    around = None if securable is None else securable.around()
    return sorted(
        (each, SELECT, on.kind, str(on))
        for on, principals in access.grants.by_securable.items()
        for each in principals
        if (around is None or on in around) and (wanted is None or each in wanted)
    )


def _chain(storage_uri: str) -> ActionChain:
    storage = Storage(storage_uri)
    return ActionChain(storage, StorageLayout(storage.uri).grants)
