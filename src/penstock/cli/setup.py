"""`penstock setup`: fetches Java and the Spark jars now, so that the first run does not have to."""

from __future__ import annotations

from penstock.cli.console import print_json, progress_lines, say
from penstock.cli.options import AsJson


def setup(as_json: AsJson = False) -> None:
    """Fetch and check what a run needs: Java, and the jars of Spark's Delta and Kafka connectors.

    Done once per user; a run does the same by itself when it was not called.
    """
    from penstock.spark.setup import prepare

    ready = prepare(progress=progress_lines())
    if as_json:
        print_json(ready.to_json())
    else:
        say(str(ready))
