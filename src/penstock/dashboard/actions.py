"""What the dashboard may do when it is allowed to: stop the run, and start one. Each is noted in the event log."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import Final

from penstock.errors import PenstockError, StateError
from penstock.events import EventLog, EventType
from penstock.events import builders as say
from penstock.events.log.audit import Actor
from penstock.events.log.event_log import new_update_id
from penstock.storage import LockOwner, Storage, StorageLock, read_holder
from penstock.storage.process import machine

_WAIT_SECONDS: Final = 3600.0
_LOOK_SECONDS: Final = 0.5


class Actions:
    """Stops and starts the runs of one storage on this machine.

    `command` is the command line of `penstock run` for the pipeline, to which options are added; it runs in a session
    of its own and outlives the dashboard. The log has one writer, so that a stop is noted when the run has let go of
    the storage.
    """

    def __init__(self, storage_uri: str, command: Sequence[str]) -> None:
        self._storage = storage_uri
        self._command = tuple(command)

    def stop(self, pipeline: str, *, by: Actor) -> None:
        """Asks the run to stop after its current batches.

        Raises:
            StateError: ACTION_NOT_POSSIBLE: nothing runs, or it runs on another machine.
        """
        holder = read_holder(Storage(self._storage))
        if holder is None or not holder.alive():
            raise StateError("ACTION_NOT_POSSIBLE", action="stop", reason="nothing runs on this storage")
        if holder.machine != machine():
            raise StateError("ACTION_NOT_POSSIBLE", action="stop", reason=f"it runs on {holder.owner.host}")
        os.kill(holder.owner.pid, signal.SIGTERM)
        request = (pipeline, "STOP", by, {"pid": holder.owner.pid})
        threading.Thread(target=self._note, args=request, daemon=True).start()

    def refresh(self, pipeline: str, dataset: str | None, *, full: bool, by: Actor) -> None:
        """Starts a run that brings `dataset`, or all of them, up to date; with `full` it is computed again.

        Raises:
            StateError: ACTION_NOT_POSSIBLE: another run works on the storage.
            ExternalError: EVENT_LOG_WRITE_FAILED; then nothing is started.
        """
        wanted = [] if dataset is None else ["--full-refresh" if full else "--refresh", dataset]
        try:
            self._append(pipeline, "REFRESH", by, {"options": wanted})
        except StateError as error:
            raise StateError("ACTION_NOT_POSSIBLE", action="refresh", reason="a run works on this storage") from error
        run = subprocess.Popen(
            [*self._command, *wanted],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        threading.Thread(target=run.wait, daemon=True).start()  # else it stays as a zombie once it has ended

    def _note(self, pipeline: str, action: str, by: Actor, arguments: dict[str, object]) -> None:
        until = time.monotonic() + _WAIT_SECONDS
        while time.monotonic() < until:
            try:
                self._append(pipeline, action, by, arguments)
            except StateError:
                time.sleep(_LOOK_SECONDS)  # the run still ends
            except PenstockError:
                return
            else:
                return

    def _append(self, pipeline: str, action: str, by: Actor, arguments: dict[str, object]) -> None:
        with (
            StorageLock(self._storage, LockOwner.current("penstock ui")),
            EventLog.open(self._storage, pipeline_name=pipeline, update_id=new_update_id()) as log,
        ):
            log.append(EventType.USER_ACTION, *say.user_action(action, by=by, arguments=arguments))
