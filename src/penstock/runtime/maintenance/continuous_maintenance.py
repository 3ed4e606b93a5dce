"""Looks after tables while the flows of a continuous update go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from pyspark.util import inheritable_thread_target

from penstock.config import MaintenanceSettings
from penstock.errors import PenstockError
from penstock.graph.elements import MaterializedView
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.plan.maintenance import due_maintenance
from penstock.runtime.flows.services import FlowServices
from penstock.runtime.maintenance.tables import FAILURES, Maintenance
from penstock.runtime.storage_state.state import stored_tables
from penstock.spark.delta.maintenance import cancel
from penstock.storage.maintenance_records import read_maintenance

_LOOK_SECONDS: Final = 600.0
_LEAST_PAUSE: Final = 1.0  # seconds; an interval of 0 means "always due", not "without a pause"
_LONGEST_BATCH: Final = 86_400.0  # seconds
_APPENDING: Final = {FlowType.APPEND, FlowType.APPEND_ONCE}


@contextmanager
def looking_after_tables(services: FlowServices, settings: MaintenanceSettings) -> Iterator[None]:
    """Starts a thread that looks every ten minutes which tables are due; ends it with the block.

    Nothing happens in an update that stops by itself: it looks after its tables when the flows have ended. Only
    tables that grow by appends are rewritten, because no append minds; all are freed of old files.
    """
    if services.trigger.stops or not settings.automatic:
        yield
        return
    ended = threading.Event()
    maintenance = Maintenance(
        services.spark,
        services.layout,
        services.reporter.maintenance,
        may_rewrite=lambda table: _only_grows(services, table),
        stop=ended,
        least_retention=_LONGEST_BATCH,
    )
    inheriting = inheritable_thread_target(services.spark)
    thread = services.reporter.background_thread(
        inheriting(lambda: _look_again_and_again(services, settings.interval, maintenance, ended)), "maintenance"
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()
        cancel(services.spark)
        thread.join()  # it writes to the event log, which is closed next


def _look_again_and_again(
    services: FlowServices, interval: float, maintenance: Maintenance, ended: threading.Event
) -> None:
    while not ended.wait(max(min(interval, _LOOK_SECONDS), _LEAST_PAUSE)):
        with suppress(PenstockError, *FAILURES):  # of a table or a storage that fails: the flows that use it say so
            tables = stored_tables(services.graph, services.paths)
            records = read_maintenance(services.layout)
            maintenance.run(due_maintenance(tables, records, now=time.time(), interval=interval))


def _only_grows(services: FlowServices, table: Identifier) -> bool:
    if isinstance(services.graph.tables.get(table), MaterializedView):
        return False
    return all(flow.type in _APPENDING for flow in services.graph.flows_to(table))
