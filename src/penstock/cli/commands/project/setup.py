"""`penstock setup`: fetches Java and the Spark jars now, so that the first run does not have to."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.options import AsJson
from penstock.cli.screen.console import plural, print_json, progress_lines, say


def setup(
    s3: Annotated[
        bool, typer.Option("--s3", help="Fetch Spark's client for S3, too: for pipelines with s3:// or s3a:// paths.")
    ] = False,
    azure: Annotated[bool, typer.Option("--azure", help="Fetch the one for Azure, too: abfss:// paths.")] = False,
    gcs: Annotated[bool, typer.Option("--gcs", help="Fetch the one for Google Cloud, too: gs:// paths.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find Java, fetch and check the jars of Spark's Delta and Kafka connectors, prepare quick starts.

    Done once per user; a run does the same by itself when it was not called.
    """
    from penstock.spark.session.setup import prefetch

    clients = {"s3": s3, "azure": azure, "gcs": gcs}
    ready = prefetch(progress_lines(), jar_sets=[name for name, wanted in clients.items() if wanted])
    if as_json:
        print_json(ready.to_json())
        return
    say(f"Java {ready.java.version} from {ready.java.origin.value}: {ready.java.executable}")
    say(f"{plural(len(ready.jars), 'jar')} in {ready.jars[0].parent.parent}")
    say("A class archive for quick starts" if ready.class_archive else "No class archive; starts take a little longer")
