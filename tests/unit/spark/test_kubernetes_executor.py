"""What an executor in a pod is started with, of what Spark says in its environment."""

from __future__ import annotations

from penstock.spark.session.cluster.kubernetes_executor import arguments

_ENVIRON = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.7:7078",
    "SPARK_EXECUTOR_ID": "2",
    "SPARK_EXECUTOR_CORES": "4",
    "SPARK_EXECUTOR_MEMORY": "2g",
    "SPARK_APPLICATION_ID": "spark-application-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.8",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "orders-exec-2",
    "SPARK_CONF_DIR": "/opt/spark/conf",
}


def test_the_options_of_java_come_in_their_order_and_the_words_of_spark_by_name() -> None:
    options = {f"SPARK_JAVA_OPT_{number}": f"-Dn={number}" for number in (10, 2, 0)}
    found = arguments({**_ENVIRON, **options, "SPARK_JAVA_OPT_X": "-Dother"})
    assert found[:5] == ["-Dn=0", "-Dn=2", "-Dn=10", "-Xms2g", "-Xmx2g"]
    assert found[5] == "-cp"
    assert found[6].startswith("/opt/spark/conf:")
    assert found[6].endswith("/jars/*")
    named = dict(zip(found[8::2], found[9::2], strict=True))
    assert named["--driver-url"] == _ENVIRON["SPARK_DRIVER_URL"]
    assert named["--podName"] == "orders-exec-2"
    assert named["--hostname"] == "10.0.0.8"
