"""What every way to deploy a pipeline needs to know of it."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.config import PipelineConfig, SecretReference
from penstock.errors import ConfigError
from penstock.storage import local_path

_LONGEST_NAME: Final = 40
"""Kubernetes allows 63 characters; a CronJob adds 11, and some of these names have a part behind them."""

_STOP_MARGIN: Final = 30
"""Seconds between the end of `stop_timeout` and SIGKILL, for Spark and Java to end."""

NO_RETRY: Final = {2: "the definition is wrong", 3: "the state is refused"}
"""Exit codes of `penstock run` after which another try ends alike, and why."""

_DAY: Final = 1_440
"""Minutes."""


@dataclass(frozen=True, slots=True)
class DeployFile:
    """One file to write: its path below the output folder, and its text."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A pipeline, and how it is to be run.

    Attributes:
        config: the pipeline's settings, of the environment that is deployed.
        every: seconds between two runs, unless they are continuous.
        options: what each `penstock` command takes behind the folder, such as `--env prod`.
        run_options: what `penstock run` takes besides.
    """

    config: PipelineConfig
    every: float = 3_600.0
    options: tuple[str, ...] = ()
    run_options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The pipeline's name as a DNS label: lower-case letters, digits and `-`."""
        label = re.sub(r"[^a-z0-9]+", "-", self.config.name.lower())[:_LONGEST_NAME].strip("-")
        return label if label[:1].isalpha() else f"pipeline-{label}".rstrip("-")

    @property
    def continuous(self) -> bool:
        """Whether a run ends only when it is stopped."""
        return self.config.keeps_running

    @property
    def stop_seconds(self) -> int:
        """How many seconds a run gets between SIGTERM and SIGKILL: more than its own limit, `stop_timeout`."""
        return math.ceil(self.config.stop_timeout) + _STOP_MARGIN

    @property
    def penstock(self) -> str:
        """The program beside this Python, by its whole path."""
        return str(Path(sys.executable).with_name("penstock"))

    @property
    def secrets(self) -> tuple[SecretReference, ...]:
        """The references of the pipeline file, each place once, sorted."""
        found = {(each.source, each.target): each for each in self.config.secrets.values()}
        found |= {(each.source, each.target): each for each in self.config.references.values()}
        return tuple(found[key] for key in sorted(found))

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that hold secrets."""
        return tuple(each.target for each in self.secrets if each.source == "env")

    @property
    def local_storage(self) -> Path | None:
        """The storage's folder, if it is on a disk."""
        path = Path(local_path(self.config.storage))
        return path if path.is_absolute() else None

    def cron(self) -> str:
        """Returns the interval between two runs as a cron expression.

        Raises:
            ConfigError: CONFIG_INVALID_VALUE for an interval that cron cannot express, such as 7 minutes.
        """
        minutes = self.every / 60
        if minutes >= 1 and minutes == int(minutes):
            if minutes < 60 and 60 % minutes == 0:
                return f"*/{minutes:g} * * * *"
            if minutes < _DAY and minutes % 60 == 0 and _DAY % minutes == 0:
                return f"0 */{minutes / 60:g} * * *"
            if minutes == _DAY:
                return "0 0 * * *"
        raise ConfigError(
            "CONFIG_INVALID_VALUE",
            key="--every",
            value=f"{self.every:g} seconds",
            expected="a number of minutes that divides an hour, a number of hours that divides a day, or a day",
            example="15 minutes",
        )
