"""What follows a run: the totals of its log, and what its pipeline file asks for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.config import PipelineConfig
    from penstock.runtime.reporting.followers import Follower


def followers_of(config: PipelineConfig) -> list[Follower]:
    """Returns what is to follow a run of this pipeline."""
    from penstock.observe.log.totals_follower import TotalsFollower

    found: list[Follower] = [partial(TotalsFollower, config.storage)]
    if config.alerts.declared:
        from penstock.alerts.follower import Alerts

        found.append(partial(Alerts, config))
    if config.metrics.declared:
        from penstock.cli.screen.console import note
        from penstock.metrics.follower import Metrics

        found.append(partial(Metrics, config.metrics, on_ready=lambda url: note(f"Metrics: {url}")))
    if config.lineage.declared:
        from penstock.openlineage.follower import Lineage

        found.append(partial(Lineage, config))
    if config.catalogs and config.batch_of is None:  # a run as one batch has tables of its own
        from penstock.registration.follower import Registration

        found.append(partial(Registration, config))
    return found
