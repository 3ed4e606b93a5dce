"""One look at a pipeline from outside: what its event log says is wrong, whether anything runs or not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from penstock.alerts.finding import Finding
from penstock.alerts.follower import Alerts
from penstock.alerts.watch import watch_over
from penstock.config import PipelineConfig
from penstock.errors import ConfigError, PipelineInvalid
from penstock.events import EventLog, new_update_id, read_events, tail_events
from penstock.storage import Storage, is_locked

_SEND_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Check:
    """What is wrong now, and whether a run is alive, which sends it by itself."""

    wrong: tuple[Finding, ...]
    watched: int
    run_is_alive: bool


def check(config: PipelineConfig, now: datetime) -> Check:
    """Applies the rules of the pipeline file to its event log; writes and sends nothing, starts no JVM.

    Raises:
        ConfigError: ALERTS_NOT_DECLARED, ALERT_TABLE_UNKNOWN, STORAGE_NOT_READABLE.
        PipelineInvalid: several tables are unknown.
    """
    if not config.alerts.declared:
        raise ConfigError("ALERTS_NOT_DECLARED", location=config.file, what="alerts")
    storage = Storage(config.storage)
    locked_before = is_locked(storage)
    watch = watch_over(read_events(config.storage), config.alerts)
    alive = locked_before or is_locked(storage)  # a run may begin or end while its log is read
    if not alive:
        watch.run_is_gone()
    unknown = watch.unknown_tables()
    for error in unknown:
        error.location = config.file
    if unknown:
        raise unknown[0] if len(unknown) == 1 else PipelineInvalid(unknown)
    findings = watch.findings(now)
    return Check(tuple(finding for finding in findings if finding.error is not None), len(findings), alive)


def notify(config: PipelineConfig, *, seconds: float = _SEND_SECONDS) -> None:
    """Does once what a run does all the time: sends the destinations what begins and what is over, and notes it.

    Called when no run is alive. Waits `seconds` for the destinations; the next call tries again what they did not take.

    Raises:
        ConfigError: STORAGE_NOT_READABLE.
    """
    newest = tail_events(config.storage, 1)
    update_id = newest[0].origin.update_id if newest else new_update_id()
    with (
        EventLog.open(config.storage, pipeline_name=config.name, update_id=update_id) as log,
        Alerts(config, log, run_is_gone=True, interval=0, close_seconds=seconds),
    ):
        pass
