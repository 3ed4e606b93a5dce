"""The status of a storage as of now: its event log, and whether the run that writes it still lives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.observe.log.followed_log import FollowedLog
from penstock.observe.run_resources import resource_warnings
from penstock.observe.status.pipeline_status import PipelineStatus, StatusProjection
from penstock.storage import LockHolder, Storage, is_locked
from penstock.storage.process_resources import resources_of_run


def read_status(storage_uri: str) -> PipelineStatus:
    """Returns the status of a storage; empty when nothing ran there yet. Starts no JVM.

    Of a long log it reads the totals, which it brings up to date, and what came since. An update whose process was
    killed is FAILED with UPDATE_INTERRUPTED rather than RUNNING for ever.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED.
    """
    storage = Storage(storage_uri)
    locked_before = is_locked(storage)
    projection = FollowedLog(storage_uri, StatusProjection).look()
    # A run may end or begin while its log is read: only no run on both sides means that none lives.
    return projection.status(writer_alive=locked_before or is_locked(storage))


def with_resources(status: PipelineStatus, holder: LockHolder | None) -> PipelineStatus:
    """Returns `status` with what is wrong with the processes of the run that holds the storage's lock."""
    return replace(status, resources=resource_errors(holder))


def resource_errors(holder: LockHolder | None) -> tuple[Mapping[str, Any], ...]:
    """Returns what is wrong with the processes of a run, as for `PipelineStatus.resources`."""
    return tuple(error.to_json() for error in resource_warnings(resources_of_run(holder)))
