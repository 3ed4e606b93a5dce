"""The settings of the tuned hand-written program: the table of Penstock's own defaults."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.spark.accelerators.own_classes import own_jars
from penstock.spark.session.defaults import Machine, session_conf

# They name sources in the checkpoint, for which a plain program would have to name each of its readers; no tuning.
_NOT_FOR_PLAIN_PROGRAMS = {
    "spark.sql.streaming.queryEvolution.enableSourceEvolution",
    "spark.sql.streaming.offsetLog.formatVersion",
}


def tuned_settings(jars: Sequence[Path]) -> dict[str, str]:
    """Returns Penstock's session settings for this machine, and the class path that they need.

    Some name classes of Penstock's own: a hand-written program gets these too, so that it is compared at its best.
    """
    conf = session_conf(Machine.of("local[*]"), {})
    all_jars = [str(jar) for jar in (*jars, *own_jars())]
    paths = {"spark.jars": ",".join(all_jars), "spark.driver.extraClassPath": ":".join(all_jars)}
    return {**{key: value for key, value in conf.items() if key not in _NOT_FOR_PLAIN_PROGRAMS}, **paths}
