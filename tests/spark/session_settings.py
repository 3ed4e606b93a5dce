"""What the one session of these tests is told, beyond Penstock's own defaults."""

from __future__ import annotations

CHOSEN = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
    # Most queries of these tests run once: compiling each to Java would take a fifth of the time. Other tests do.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # The second compiler would take an eighth of the tests' time and never earn it back.
    # With it alone Java reserves 48 MB for what it has compiled: full after a minute, and then it compiles no more.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
    # Stopping the maintenance of state holds a lock that a maintenance thread may want, for 300 seconds by default.
    "spark.sql.streaming.stateStore.maintenanceShutdownTimeout": "1s",
    "spark.sql.streaming.stateStore.maintenanceForceShutdownTimeout": "1s",
}
