"""`penstock setup`: fetches Java and the Spark jars now, so that the first run does not have to."""

from __future__ import annotations

from penstock.cli.console import plural, print_json, progress_lines, say
from penstock.cli.options import AsJson


def setup(as_json: AsJson = False) -> None:
    """Find Java, and fetch and check the jars of Spark's Delta and Kafka connectors.

    Done once per user; a run does the same by itself when it was not called.
    """
    from penstock.spark.setup.cache import cache_directory
    from penstock.spark.setup.jars import ensure_jars
    from penstock.spark.setup.java import find_java

    java = find_java()
    jars = ensure_jars("core", java=java, progress=progress_lines())
    if as_json:
        print_json(
            {
                "java": {"version": java.version, "path": str(java.executable), "from": java.origin.value},
                "jars": [str(jar) for jar in jars],
                "cache": str(cache_directory()),
            }
        )
        return
    say(f"Java {java.version} from {java.origin.value}: {java.executable}")
    say(f"{plural(len(jars), 'jar')} in {jars[0].parent}")
