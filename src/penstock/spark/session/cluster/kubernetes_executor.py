"""Starts an executor in a pod, as `python -m penstock.spark.session.cluster.kubernetes_executor executor`.

Spark says in the pod's environment what it is to do, as the entry point of its own images reads it
(resource-managers/kubernetes/docker in Spark's repository). With this command, an image needs only Penstock.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final, NoReturn

from penstock.spark.session.setup.java import find_java
from penstock.spark.session.setup.known_jars import SPARK_HOME

_CLASS: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_OPTION: Final = re.compile(r"SPARK_JAVA_OPT_(\d+)")
_ARGUMENTS: Final = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}


def main() -> NoReturn:
    """Becomes the executor's JVM."""
    java = find_java()
    environ = {**os.environ, "JAVA_HOME": str(java.home)}
    os.execve(java.executable, [str(java.executable), *arguments(environ)], environ)  # noqa: S606


def arguments(environ: Mapping[str, str]) -> list[str]:
    """Returns Java's arguments, from what Spark says in the environment."""
    numbered = {int(found[1]): value for name, value in environ.items() if (found := _OPTION.fullmatch(name))}
    memory = environ["SPARK_EXECUTOR_MEMORY"]
    folders = [environ.get(name) for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "SPARK_EXTRA_CLASSPATH")]
    class_path = os.pathsep.join([*filter(None, folders), f"{SPARK_HOME}/jars/*"])
    words = [word for option, variable in _ARGUMENTS.items() for word in (option, environ[variable])]
    options = [numbered[number] for number in sorted(numbered)]
    return [*options, f"-Xms{memory}", f"-Xmx{memory}", "-cp", class_path, _CLASS, *words]


if __name__ == "__main__":
    main()
