"""The pipeline file, checked with line numbers, as one frozen `PipelineConfig`."""

from penstock.config.files.library import Library, LibraryKind, find_in_folder
from penstock.config.files.path_mapping import explain_missing_file, map_path, resolve_path
from penstock.config.load import load_project, load_script
from penstock.config.pipeline_config import MaintenanceSettings, PipelineConfig, RetrySettings
from penstock.config.sections.alerts import ALL_TABLES, AlertSettings, Command, Destination, Email, TableAlerts, Webhook
from penstock.config.sections.catalogs import HiveMetastore, UnityCatalogServer
from penstock.config.sections.lineage import LineageSettings
from penstock.config.sections.metrics import MetricsSettings, Otlp
from penstock.config.values.interval import parse_interval
from penstock.config.values.secret import SecretReference, redacted
from penstock.config.values.trigger import Trigger, TriggerKind, effective_trigger, is_continuous, trigger_kind

__all__ = [
    "ALL_TABLES",
    "AlertSettings",
    "Command",
    "Destination",
    "Email",
    "HiveMetastore",
    "Library",
    "LibraryKind",
    "LineageSettings",
    "MaintenanceSettings",
    "MetricsSettings",
    "Otlp",
    "PipelineConfig",
    "RetrySettings",
    "SecretReference",
    "TableAlerts",
    "Trigger",
    "TriggerKind",
    "UnityCatalogServer",
    "Webhook",
    "effective_trigger",
    "explain_missing_file",
    "find_in_folder",
    "is_continuous",
    "load_project",
    "load_script",
    "map_path",
    "parse_interval",
    "redacted",
    "resolve_path",
    "trigger_kind",
]
