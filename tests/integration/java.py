"""The Java and the jars that the servers of these tests run on: the ones Penstock itself sets up."""

from __future__ import annotations

import functools
from pathlib import Path

import pyspark

from penstock.spark.session.setup.cache import cache_directory
from penstock.spark.session.setup.jars import ensure_jars
from penstock.spark.session.setup.java import find_java, java_home_for_spark


def java_executable() -> str:
    """Returns the Java to start a server with."""
    return str(find_java().executable)


def java_home() -> str:
    """Returns the JAVA_HOME for a server that starts JVMs of its own, as a Spark worker does."""
    return str(java_home_for_spark(find_java(), cache_directory()))


def spark_home() -> Path:
    """Returns the folder that holds Spark's `jars`."""
    return Path(pyspark.__file__).parent


@functools.cache
def broker_class_path() -> str:
    """Returns the class path of a Kafka broker; the jars are fetched once per user."""
    return ":".join(str(jar) for jar in ensure_jars("kafka-broker"))


@functools.cache
def hadoop_class_path() -> str:
    """Returns what YARN's servers need beside Spark's jars; the jars are fetched once per user."""
    return ":".join(str(jar) for jar in ensure_jars("hadoop-servers"))


@functools.cache
def ldap_class_path() -> str:
    """Returns the class path of an LDAP server; the jar is fetched once per user."""
    return ":".join(str(jar) for jar in ensure_jars("ldap-server"))
