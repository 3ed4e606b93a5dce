"""A cluster that has lost parts, on the pages."""

from __future__ import annotations

import pytest
from tests.unit.dashboard.conftest import client_of

from penstock.errors import ExternalError
from penstock.events import BatchProgress, ClusterResources, ClusterState, EventLog, EventType, Level, builders
from penstock.events.cluster import cluster_resources
from penstock.storage import LockOwner, StorageLock

DATASET = "shop.orders"
MASTER = "spark://m:7077"


@pytest.mark.parametrize("lost", [True, False])
def test_a_lost_master_and_no_rate_are_shown(storage: str, lost: bool) -> None:
    with EventLog.open(storage, pipeline_name="p", update_id="u1") as log:
        log.append(EventType.CREATE_UPDATE, *builders.create_update(pipeline="p", cause="USER_ACTION", version="1"))
        definition = builders.dataset_definition(DATASET, dataset_type="STREAMING_TABLE")
        log.append(EventType.DATASET_DEFINITION, *definition, dataset=DATASET)
        defined = builders.flow_definition("orders", output_dataset=DATASET, flow_type="append")
        log.append(EventType.FLOW_DEFINITION, *defined, dataset=DATASET, flow="orders")
        progress = BatchProgress(0, 10, 10, processed_rows_per_second=777.0, batch_duration_ms=10)
        batch = builders.flow_batch("orders", progress)
        log.append(EventType.FLOW_PROGRESS, *batch, dataset=DATASET, flow="orders")
        state = ClusterState.MASTER_LOST if lost else ClusterState.AVAILABLE
        error = ExternalError("CLUSTER_MASTER_LOST", master=MASTER, executors=0, seconds=30, log="x") if lost else None
        said = cluster_resources(MASTER, ClusterResources(state, 0 if lost else 2))
        log.append(EventType.CLUSTER_RESOURCES, *said, level=Level.WARN if lost else Level.INFO, error=error)
    with StorageLock(storage, LockOwner.current()):  # else the run is taken for dead
        client = client_of(storage)
        overview, flow = client.get("/").text, client.get(f"/flows/{DATASET}?flow=orders").text
    assert ("CLUSTER_MASTER_LOST" in overview) is lost
    assert ("the master is lost" in overview) is lost
    assert ("777/s" in overview) is not lost
    assert ("<dd>1.0k/s</dd>" in flow) is not lost
