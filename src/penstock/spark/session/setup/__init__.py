"""What Spark needs before it can start: Java, jars, the class archive; fetched once per user."""

from penstock.spark.session.setup.jars import ensure_jars
from penstock.spark.session.setup.java import Java, JavaOrigin, find_java, java_home_for_spark
from penstock.spark.session.setup.prefetch import Ready, prefetch

__all__ = ["Java", "JavaOrigin", "Ready", "ensure_jars", "find_java", "java_home_for_spark", "prefetch"]
