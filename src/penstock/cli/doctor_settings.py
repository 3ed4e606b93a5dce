"""The settings of a pipeline as `penstock doctor` and the dashboard's page Checks judge them; starts no JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.care.doctor.settings import SettingsFacts
    from penstock.config import PipelineConfig


def settings_of(config: PipelineConfig) -> SettingsFacts:
    """Returns them, Spark's with the defaults that a session would get."""
    from penstock.care.doctor.settings import settings_facts
    from penstock.spark.session.cluster.settings import unauthenticated
    from penstock.spark.session.defaults import Machine, session_conf

    machine = Machine.of(config.master)
    return settings_facts(
        config,
        session_conf(machine, config.spark_conf),
        cores=machine.cores if machine.local else None,
        authenticated=unauthenticated(config) is None,
    )
