"""What a pipeline file says, checked and complete: the one thing that the engine reads of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from penstock.config.files.library import Library, find_source_files
from penstock.config.sections.access import AccessSettings
from penstock.config.sections.alerts import AlertSettings
from penstock.config.sections.audit import AuditSettings
from penstock.config.sections.catalogs import CatalogSettings
from penstock.config.sections.lineage import LineageSettings
from penstock.config.sections.metrics import MetricsSettings
from penstock.config.sections.serve import ServeSettings
from penstock.config.values.secret import REFERENCE, SecretReference, redacted
from penstock.config.values.trigger import Trigger, TriggerKind, effective_trigger
from penstock.errors import ConfigError, DefinitionError, SourceLocation, did_you_mean
from penstock.graph.identifier import DefaultSchema, Identifier

_BATCH = "batch"
_IMPORTS_DLT = re.compile(r"""(?:^|["\n])\s*(?:import|from)\s+dlt\b""", re.MULTILINE)  # also in a cell of an .ipynb

EVENT_LOG_RETENTION: Final = 30 * 86_400.0
"""Thirty days, as long as Delta keeps the log of a table: what is dropped then remains as totals."""

STOP_TIMEOUT: Final = 30.0
"""As long as Kubernetes waits between SIGTERM and SIGKILL."""


CLUSTER_TIMEOUT: Final = 30.0
"""As long as Spark waits for executors before it schedules (spark.scheduler.maxRegisteredResourcesWaitingTime)."""


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """How a flow is tried again after an error that can pass.

    `max_flow_retries` counts the tries after the first one; None means twice, and in a continuous run as often as it
    takes while a service is away. The pause before them starts with `first_delay` seconds and doubles up to
    `longest_delay` seconds.
    """

    max_flow_retries: int | None = None
    first_delay: float = 5.0
    longest_delay: float = 60.0


@dataclass(frozen=True, slots=True)
class MaintenanceSettings:
    """Whether runs also look after their tables (OPTIMIZE, VACUUM, old checkpoints), and every how many seconds."""

    automatic: bool = True
    interval: float = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineConfig:
    """A pipeline's settings after environment, overrides and defaults.

    `directory` and `stand_ins` are absolute; `file` is the pipeline file as the user would type it. `storage` and the
    values of `paths` are absolute paths or URIs. The values of `spark_conf` may hold references to
    secrets until `resolve_spark_conf`; no other field does.
    """

    name: str
    directory: Path
    file: SourceLocation
    environment: str | None = None
    libraries: tuple[Library, ...] = ()
    catalog: str | None = None
    schema: str = "default"
    storage: str
    storage_access: str | None = None
    """Who may read what runs write: `owner`, `group` or `all`; None: as the storage's folder, a new one its owner."""
    continuous: bool = False
    trigger: Trigger
    configuration: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    stand_ins: Path | None = None
    secrets: Mapping[str, SecretReference] = field(default_factory=dict)
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    master: str = "local[*]"
    cluster_timeout: float = CLUSTER_TIMEOUT
    """How many seconds the master may take to accept the application, or be lost without executors."""
    retries: RetrySettings = field(default_factory=RetrySettings)
    stop_timeout: float = STOP_TIMEOUT
    """How many seconds after the first signal a run has ended, its current batches with it or not."""
    strict: bool = False
    """Whether state that grows for ever is an error; else it is a warning."""
    maintenance: MaintenanceSettings = field(default_factory=MaintenanceSettings)
    alerts: AlertSettings = field(default_factory=AlertSettings)
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    lineage: LineageSettings = field(default_factory=LineageSettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
    serve: ServeSettings = field(default_factory=ServeSettings)
    access: AccessSettings = field(default_factory=AccessSettings)
    catalogs: tuple[CatalogSettings, ...] = ()
    """The catalogs in which runs register the tables."""
    event_log: Identifier | None = None
    """The table that has the event log, too."""
    event_log_retention: float | None = EVENT_LOG_RETENTION
    """After how many seconds events may be dropped, None: never."""
    references: Mapping[str, SecretReference] = field(default_factory=dict, repr=False)
    """The references in the values of `spark_conf` by their text, e.g. `${env:TOKEN}`, and in other sections by key."""
    batch_of: str | None = None
    """Of a run as one batch, the storage of the pipeline's other runs; `storage` is a folder in it."""
    notices: tuple[ConfigError, ...] = ()
    """What a file that was written for another system says without effect here."""
    of_databricks: bool = False
    """Whether settings of Databricks declare the pipeline."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", DefaultSchema(self.schema, self.catalog))
        object.__setattr__(self, "alerts", self.alerts.within(self.catalog))

    @property
    def keeps_running(self) -> bool:
        """Whether a run continues until it is stopped."""
        return not self.trigger.stops

    @property
    def warnings(self) -> tuple[ConfigError, ...]:
        """What a run says and does all the same: the notices, and that its trigger stands for another."""
        if self.trigger.kind is not TriggerKind.ONCE:
            return self.notices
        return (*self.notices, ConfigError("CONFIG_TRIGGER_ONCE_REPLACED", location=self.file))

    @property
    def shared_storage(self) -> str:
        """Where tables that the pipeline does not declare are found by name."""
        return self.batch_of or self.storage

    @property
    def identity(self) -> dict[str, str]:
        """What `spark.conf` of a pipeline's files says of it, by the keys of Databricks; its id is its name."""
        own = {"id": self.name, "catalog": self.catalog, "schema": self.schema, "target": self.schema}
        return {f"pipelines.{key}": value for key, value in own.items() if value}

    def as_batch(self) -> PipelineConfig:
        """Returns the settings of a run as one batch over all the data: it stores in a folder of its own."""
        trigger = Trigger(TriggerKind.AVAILABLE_NOW)
        storage = f"{self.storage.rstrip('/')}/{_BATCH}"
        return replace(self, storage=storage, batch_of=self.storage, continuous=False, trigger=trigger)

    def source_files(self) -> list[Path]:
        """Returns the files that declare the pipeline, absolute, sorted, each once, `stand_ins` not; looks at the disk.

        Raises:
            ConfigError: CONFIG_NO_SOURCE_FILES, CONFIG_SOURCE_NOT_SUPPORTED.
        """
        found = find_source_files(self.directory, self.libraries, self.file, self.paths)
        return [path for path in found if path != self.stand_ins]

    def expects_null(self) -> bool:
        """Whether Databricks' settings declare it or a file imports `dlt`: then it may expect NULL of failed casts."""
        if self.of_databricks:
            return True
        try:
            files = [path.read_text(encoding="utf-8", errors="replace") for path in self.source_files()]
        except (ConfigError, OSError):  # whoever needs the files says what is wrong with them
            return False
        return any(_IMPORTS_DLT.search(text) for text in files)

    def resolve_spark_conf(self) -> dict[str, str]:
        """Returns `spark_conf` with the values of the secrets in it: never show or log the result.

        Raises:
            ConfigError: SECRET_NOT_FOUND.
        """
        return {
            key: REFERENCE.sub(lambda match: self.references[match.group(0)].resolve(), value)
            for key, value in self.spark_conf.items()
        }

    def secret(self, name: str) -> str:
        """Returns the value of an entry of `secrets`, read again at each call: never show or log it.

        Raises:
            DefinitionError: SECRET_NOT_DECLARED.
            ConfigError: SECRET_NOT_FOUND.
        """
        if (reference := self.secrets.get(name)) is None:
            raise DefinitionError("SECRET_NOT_DECLARED", secret=name, suggestion=did_you_mean(name, self.secrets))
        return reference.resolve()

    def redact(self, text: str) -> str:
        """Returns `text` with every value of a secret replaced by `***`.

        For texts from elsewhere, such as a broker's error message. A secret without a value is passed over.
        """
        return redacted(text, (*self.secrets.values(), *self.references.values()))

    def with_run_options(
        self, *, continuous: bool = False, trigger: str | None = None, metrics_port: int | None = None
    ) -> PipelineConfig:
        """Returns the settings under the options of a run; the trigger outweighs `continuous`.

        Raises:
            ConfigError: CONFIG_INVALID_TRIGGER.
        """
        if metrics_port is not None:
            served = replace(self, metrics=replace(self.metrics, port=metrics_port))
            return served.with_run_options(continuous=continuous, trigger=trigger)
        if trigger is not None:
            chosen = Trigger.parse(trigger)
            return replace(self, trigger=chosen, continuous=not chosen.stops)
        if continuous:
            return replace(self, continuous=True, trigger=effective_trigger(self.trigger, continuous=True))
        return self
