"""The status of a storage as of now: its event log, and whether the run that writes it still lives."""

from __future__ import annotations

from penstock.observe.followed_log import FollowedLog
from penstock.observe.status import PipelineStatus, StatusProjection
from penstock.storage import Storage, is_locked


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
