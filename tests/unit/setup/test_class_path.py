"""The order of the driver's class path."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from penstock.spark.session.setup.known_jars import SPARK_HOME, spark_class_path


def test_sparks_own_classes_are_found_first_and_further_jars_last() -> None:
    more = Path("delta.jar")
    found = spark_class_path([more])
    assert sorted(found[:-1]) == sorted((SPARK_HOME / "jars").glob("*.jar"))
    assert found[-1] == more
    kinds = [name for name, _ in groupby(found[:-1], key=lambda jar: jar.name.partition("-")[0])]
    assert kinds[:2] == ["slf4j", "spark"], "other jars bring older copies of what logs"
    assert kinds.count("spark") == 1
    assert kinds[2:] == sorted(kinds[2:]), "an order that is the same each time"
