from __future__ import annotations

import re
from dataclasses import replace

from penstock.spark.session.setup.known_jars import SPARK_HOME, JarSet, jar_sets


def test_every_jar_is_locked_by_version_size_and_digest() -> None:
    for jars in jar_sets().values():
        names = [jar.name for jar in jars.jars]
        assert len(names) == len(set(names))
        for jar in jars.jars:
            assert re.fullmatch(r"[0-9a-f]{64}", jar.sha256)
            assert jar.size > 1000
            assert re.fullmatch(r"[\w.-]+", jar.revision)


def test_the_sets() -> None:
    core = {jar.name for jar in jar_sets()["core"].jars}
    assert {"delta-spark_4.2_2.13", "spark-sql-kafka-0-10_2.13"} <= core
    assert "kafka_2.13" in {jar.name for jar in jar_sets()["kafka-broker"].jars}


def test_the_s3_client_does_without_the_bundle_of_all_services_of_aws() -> None:
    jars = jar_sets()["s3"].jars
    assert {"hadoop-aws", "s3", "sts"} <= {jar.name for jar in jars}
    assert sum(jar.size for jar in jars) < 20_000_000


def test_the_client_of_azure_is_a_jar_of_the_hadoop_that_spark_has() -> None:
    [azure] = jar_sets()["azure"].jars
    [hadoop] = (SPARK_HOME / "jars").glob("hadoop-client-api-*.jar")
    assert azure.name == "hadoop-azure"
    assert hadoop.stem.endswith(f"-{azure.revision}")


def test_the_client_of_google_is_one_jar_with_all_that_it_needs() -> None:
    [google] = jar_sets()["gcs"].jars
    assert google.file_name == f"gcs-connector-{google.revision}-shaded.jar"
    assert google.coordinates == f"com.google.cloud.bigdataoss:gcs-connector:{google.revision}:shaded"


def test_the_cache_folder_changes_with_any_jar() -> None:
    core = jar_sets()["core"]
    changed = JarSet("core", (replace(core.jars[0], sha256="0" * 64), *core.jars[1:]))
    shuffled = JarSet("core", tuple(reversed(core.jars)))
    assert changed.folder_name != core.folder_name
    assert shuffled.folder_name == core.folder_name
