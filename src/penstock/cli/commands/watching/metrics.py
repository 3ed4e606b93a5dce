"""`penstock metrics`: the numbers as Prometheus reads them, and what Prometheus and Grafana do with them."""

from __future__ import annotations

import sys

from penstock.cli.project import Project, project_command
from penstock.cli.recorded_reads import event_sight
from penstock.cli.screen.console import say


@project_command(scripts=True)
def show(
    *,
    config: Project,
) -> None:
    """Print the metrics of the newest update, as a run serves them; reads the event log only."""
    from prometheus_client import generate_latest

    from penstock.events.log.reader import read_events
    from penstock.metrics.exposition import registry_of
    from penstock.metrics.projection import MetricsProjection

    projection = MetricsProjection()
    for event in filter(None, map(event_sight(config), read_events(config.storage))):
        projection.apply(event)
    say(generate_latest(registry_of(projection)).decode().rstrip("\n"))


def rules() -> None:
    """Print alert rules for Prometheus; put them into a file that its rule_files name."""
    from importlib import resources

    sys.stdout.write((resources.files("penstock.metrics") / "alert_rules.yml").read_text(encoding="utf-8"))


def grafana() -> None:
    """Print a dashboard for Grafana; import it there, and choose the data source."""
    from penstock.metrics.grafana import render_dashboard

    sys.stdout.write(render_dashboard())
