"""What the dashboard is given of a pipeline by the commands that start it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.config import PipelineConfig
    from penstock.dashboard.known_pipeline import KnownPipeline


def known_pipeline(config: PipelineConfig, prices: Path | None = None) -> KnownPipeline:
    """Returns what the pipeline file says: settings, the price file beside it unless `prices` is another, the audit."""
    from penstock.care.cost.prices import price_file
    from penstock.cli.doctor_settings import settings_of
    from penstock.cli.recorded_reads import read_audit
    from penstock.dashboard.known_pipeline import KnownPipeline

    settings, price = settings_of(config).to_json(), prices or price_file(config.directory)
    return KnownPipeline(settings, price, read_audit(config), config.access)
