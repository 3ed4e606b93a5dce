"""The settings of the tuned hand-written program: the table of Penstock's own defaults."""

from __future__ import annotations

from penstock.spark.defaults import Machine, session_conf

# They name sources in the checkpoint, for which a plain program would have to name each of its readers; no tuning.
_NOT_FOR_PLAIN_PROGRAMS = {
    "spark.sql.streaming.queryEvolution.enableSourceEvolution",
    "spark.sql.streaming.offsetLog.formatVersion",
}


def tuned_settings() -> dict[str, str]:
    """Returns Penstock's session settings for this machine."""
    conf = session_conf(Machine.of("local[*]"), {})
    return {key: value for key, value in conf.items() if key not in _NOT_FOR_PLAIN_PROGRAMS}
