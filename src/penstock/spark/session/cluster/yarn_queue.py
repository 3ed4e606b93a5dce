"""An application in the queue of YARN, which has accepted it and has no room for its application master yet."""

from __future__ import annotations

import re
from typing import Any, Final

_STARTED: Final = frozenset({"ALLOCATED", "LAUNCHED", "RUNNING", "FINISHING", "FINISHED"})
_DATE: Final = re.compile(r"^\[[^\]]*\] *")


def take_out_of_queue(jvm: Any, application: str) -> str | None:
    """Ends an application whose application master YARN has not started; returns why it waited, else None.

    An application that stays behind its driver would take its turn later, and fail then. YARN is asked by a client of
    its own: Spark's is busy with waiting.

    Raises:
        Py4JError: YARN does not answer.
    """
    hadoop = jvm.org.apache.hadoop.yarn
    settings = jvm.org.apache.spark.deploy.SparkHadoopUtil.get().conf()
    client = hadoop.client.api.YarnClient.createYarnClient()
    client.init(hadoop.conf.YarnConfiguration(settings))
    client.start()
    try:
        identity = hadoop.api.records.ApplicationId.fromString(application)
        attempts = client.getApplicationAttempts(identity)
        if any(str(each.getYarnApplicationAttemptState()) in _STARTED for each in attempts):
            return None
        report = client.getApplicationReport(identity)
        client.killApplication(identity)
        said = _DATE.sub("", str(report.getDiagnostics())).partition(" Details : ")[0].strip()
        return f"{application} waits in the queue {report.getQueue()}: {said}".rstrip(".: ")
    finally:
        client.stop()
