"""The one Spark session of a test process."""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession

from penstock.spark.session.launch import SessionConfig
from penstock.spark.session.session import running_session, start_session, stop_session

SHORT_QUERIES: Final[Mapping[str, str]] = {
    # A query of a test runs a few times: compiling it to Java would take longer than it saves.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Spark writes each plan as text, and looks whether each rule of its optimizer has left the plan whole.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.lightweightPlanChangeValidation": "false",
    # Nor does the second compiler earn back its time. With the first one alone Java reserves 48 MB for what it has
    # compiled: full after a minute, and then it compiles no more.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
    # The files of a test are whole when it runs. (No blank: Java would take it for the end of an option.)
    "spark.penstock.cloudFiles.settleTime": "0seconds",
    # Stopping the maintenance of state holds a lock that a maintenance thread may want, for 300 seconds by default.
    "spark.sql.streaming.stateStore.maintenanceShutdownTimeout": "1s",
    "spark.sql.streaming.stateStore.maintenanceForceShutdownTimeout": "1s",
}
"""For a session in which most queries run only once or a few times."""

_QUICK_STEPS: Final[Mapping[str, str]] = {
    **SHORT_QUERIES,
    "spark.driver.memory": "1g",
    # One task a stage: the rows of a test fit into it.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.pollingDelay": "5ms",
    "spark.databricks.delta.stats.collect": "false",
    "spark.databricks.delta.properties.defaults.checkpointInterval": "1000",
}


def shared_session() -> SparkSession:
    """Returns the session of this process; starts it at the first call, which takes seconds.

    Raises:
        ConfigError, ExternalError: what keeps Spark from starting.
    """
    running = running_session()
    if running is not None:
        return running
    session = start_session(SessionConfig(name="penstock-test", master="local[2]", spark_conf=_QUICK_STEPS))
    atexit.register(stop_session, session)
    return session
