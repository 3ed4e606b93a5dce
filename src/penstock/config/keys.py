"""Every key of `penstock.yml` and of `spark-pipeline.yml`."""

from __future__ import annotations

import math
from dataclasses import replace

from penstock.config.sections.access import DEFAULT_ACCESS, ROLES
from penstock.config.sections.alerts import ALERTS
from penstock.config.sections.audit import AUDIT
from penstock.config.sections.catalogs import CATALOGS
from penstock.config.sections.lineage import LINEAGE
from penstock.config.sections.metrics import METRICS
from penstock.config.sections.serve import SERVE
from penstock.config.shapes import Count, Flag, Key, ListOf, MapOf, Section, Text, TextMap, TriggerText, matching
from penstock.config.values.interval import interval_of_key, parse_interval
from penstock.config.values.secret import REFERENCE, WHOLE_REFERENCE
from penstock.errors import ConfigError
from penstock.storage.new_files import ACCESS

_MASTER = r"local(\[(\*|\d+)(, ?\d+)?\])?|local-cluster\[\d+, ?\d+, ?\d+\]|spark://.+|k8s://.+|yarn"
KEEP = "keep"
_name = matching(r"[^\s./\\`][^./\\`]*", "one name without dots, slashes or backquotes", "shop")
_known_master = matching(_MASTER, "local[*], local[N], spark://HOST:PORT, yarn or k8s://URL", "local[*]")
_access = matching("|".join(ACCESS), "owner, group or all", "group")


def _master(key: str, text: str) -> str:
    if text.startswith("sc://"):
        raise ConfigError("SPARK_CONNECT_UNSUPPORTED", setting=f"{key}: {text}")
    return _known_master(key, text)


def plain(key: str, text: str) -> str:
    """Returns a text of a key that is shown: neither empty nor a reference to a secret."""
    if REFERENCE.search(text):
        raise ConfigError("CONFIG_REFERENCE_REFUSED", key=key)
    if not text.strip():
        raise ConfigError(
            "CONFIG_INVALID_VALUE", key=key, value=text, expected="a text that is not empty", example="orders"
        )
    return text


def _setting(key: str, text: str) -> str:
    """A value of `configuration`: any text, the empty one too, but no reference to a secret."""
    if REFERENCE.search(text):
        raise ConfigError("CONFIG_REFERENCE_REFUSED", key=key)
    return text


def _retention(key: str, text: str) -> float:
    return math.inf if text.strip().lower() == KEEP else parse_interval(text)


def _secret(key: str, text: str) -> tuple[str, str]:
    """Returns source and target of a reference; the text of anything else is not repeated, it may be the secret."""
    match = WHOLE_REFERENCE.fullmatch(text)
    if match is None:
        raise ConfigError("CONFIG_SECRET_LITERAL", secret=key.rpartition("secrets.")[2])
    return match.group(1), match.group(2)


_GLOB = Section(
    (Key("include", Text(plain), "A glob pattern, a folder or a file.", "transformations/**", required=True),)
)
_FILE = Section((Key("path", Text(plain), "One file.", "transformations/orders.py", required=True),))
_LIBRARY = Section(
    (
        Key("glob", _GLOB, "Files by pattern.", "{include: transformations/**}"),
        Key("file", _FILE, "One file.", "{path: transformations/orders.py}"),
    ),
    one_of=True,
)
_RETRIES = Section(
    (
        Key(
            "max_flow_retries",
            Count(),
            "How often a flow is tried again after an error that can pass. Unless it is given, a continuous run waits "
            "without end for a service that is away.",
            "5",
            "2",
        ),
        Key(
            "first_delay",
            Text(interval_of_key),
            "The pause before the first retry; it doubles with each retry.",
            "1 second",
            "5 seconds",
        ),
        Key("longest_delay", Text(interval_of_key), "The maximum pause between two retries.", "5 minutes", "1 minute"),
    )
)

_MAINTENANCE = Section(
    (
        Key("automatic", Flag(), "Whether runs maintain their tables.", "false", "true"),
        Key("interval", Text(interval_of_key), "How often a table that changes is maintained.", "6 hours", "1 day"),
    )
)

_CLUSTER = Section(
    (
        Key(
            "elastic",
            Flag(),
            "Whether executors come and go with the load: dynamic allocation, and decommissioning for spot machines.",
            "true",
            "false",
        ),
    )
)
_SECURITY = Section(
    (
        Key(
            "cluster",
            Flag(),
            "Whether driver and executors authenticate, and encrypt what they send and what they write to local disks.",
            "true",
            "false",
        ),
    )
)

_CATALOG = Key("catalog", Text(_name), "The pipeline's own catalog; names without a catalog are in it.", "main")
EVENT_LOG = Section(
    (
        _CATALOG,
        Key("schema", Text(_name), "Its schema.", "monitoring", "the pipeline's"),
        Key("name", Text(_name), "Its name.", "orders_events", required=True),
    )
)
"""A table that has the event log, as settings of Databricks name it."""

_EVENT_LOG = Section(
    (
        *(replace(key, unless="retention") if key.required else key for key in EVENT_LOG.keys),
        Key(
            "retention",
            Text(_retention),
            "The age after which events are replaced by their totals; keep retains all.",
            "90 days",
            "30 days",
        ),
    )
)

_NAME_KEY = Key(
    "name",
    Text(plain),
    "The pipeline's name, in events and in the ids of its transactions; do not change it later.",
    "orders",
    required=True,
)
_LIBRARIES = Key(
    "libraries",
    ListOf(_LIBRARY),
    "The files that declare the pipeline.",
    "[{glob: {include: transformations/**}}]",
    "every .py and .sql file below `transformations/` when that folder exists, else beside this file; no tests",
)
_SCHEMA = Key(
    "schema",
    Text(_name),
    "The default schema: of datasets whose name has none.",
    "shop",
    "default",
    ("database", "target"),
)
_STORAGE = Key(
    "storage",
    Text(plain),
    "Where tables, checkpoints and events live: a folder of a disk, relative to this file.",
    "/srv/orders",
    ".penstock",
)
_STORAGE_ACCESS = Key(
    "storage_access",
    Text(_access, "owner|group|all"),
    "Who may read what a run writes to local disks: the owner only, the group too (and write), or as the umask says.",
    "group",
)
_CONFIGURATION = Key(
    "configuration",
    TextMap(_setting),
    'Parameters of the pipeline: spark.conf.get("source") in its files; --set KEY=VALUE changes one.',
    "{source: ./data/orders}",
)

_EXTENDS = Key(
    "extends",
    Text(plain),
    "A pipeline file of Spark or Databricks, relative to this one; the keys of this file override it.",
    "databricks.yml",
)
_PIPELINE = Key("pipeline", Text(plain), "The pipeline of a bundle that `extends` refers to.", "orders_pipeline")

_SETTINGS = (
    replace(_NAME_KEY, unless="extends"),
    _LIBRARIES,
    _CATALOG,
    _SCHEMA,
    _STORAGE,
    _STORAGE_ACCESS,
    Key("continuous", Flag(), "Whether a run continues until it is stopped.", "true", "false"),
    Key(
        "trigger",
        TriggerText(),
        "When a flow starts its next batch; an interval keeps the run going until it is stopped.",
        "10 seconds",
        "available_now",
    ),
    _CONFIGURATION,
    Key(
        "paths",
        TextMap(plain),
        "Path prefixes to replace, for code that was written for another place: a prefix, and its replacement.",
        "{/Volumes/main/raw: ./data}",
    ),
    Key(
        "stand_ins",
        Text(plain),
        "A Python file that runs before the pipeline's files and registers functions that only another platform has.",
        "stand_ins.py",
    ),
    Key(
        "secrets",
        TextMap(_secret, WHOLE_REFERENCE.pattern),
        "Where to find secrets. Their values are never printed, logged or stored.",
        '{kafka_password: "${env:KAFKA_PASSWORD}"}',
    ),
    Key(
        "spark_conf",
        TextMap(),
        "Spark's own settings; they win over Penstock's. Values may hold ${secret:name}, ${env:NAME} and ${file:PATH}.",
        "{spark.sql.session.timeZone: UTC}",
    ),
    Key("master", Text(_master, _MASTER), "Where Spark runs.", "spark://host:7077", "local[*]"),
    Key(
        "cluster_timeout",
        Text(interval_of_key),
        "How long a cluster may take to accept the application, and be without master or executors during a run.",
        "2 minutes",
        "30 seconds",
    ),
    Key("cluster", _CLUSTER, "How the executors of a cluster are used.", "{elastic: true}"),
    Key("security", _SECURITY, "Which doors of a cluster are closed.", "{cluster: true}"),
    Key("retries", _RETRIES, "How a failed flow is retried.", "{max_flow_retries: 5}"),
    Key(
        "stop_timeout",
        Text(interval_of_key),
        "How long a run may take to stop after Ctrl-C or SIGTERM; the next run repeats a batch that takes longer.",
        "2 minutes",
        "30 seconds",
    ),
    Key("strict", Flag(), "Whether unbounded state is an error instead of a warning.", "true", "false"),
    Key(
        "maintenance",
        _MAINTENANCE,
        "OPTIMIZE and VACUUM of tables, and the cleanup of old checkpoints.",
        "{interval: 6 hours}",
    ),
    Key(
        "alerts",
        ALERTS,
        "Alerts: what is watched, and where alerts are sent.",
        "{tables: {orders: {freshness: 5 minutes}}}",
    ),
    Key(
        "catalogs",
        CATALOGS,
        "Catalogs, by a name of your choice, in which runs register the tables.",
        "{warehouse: {type: hive, uri: thrift://metastore:9083}}",
    ),
    Key("lineage", LINEAGE, "Where the OpenLineage events of a run are sent.", "{file: lineage.jsonl}"),
    Key(
        "event_log",
        _EVENT_LOG,
        "The retention of the event log, and a Delta table that receives a copy.",
        "{retention: 90 days}",
    ),
    Key("metrics", METRICS, "Where the metrics of a run are published.", "{port: 9464}"),
    Key("audit", AUDIT, "The record of reads.", "{on_failure: fail}"),
    Key("serve", SERVE, "The SQL endpoint of penstock serve.", "{port: 10001}"),
    Key("roles", ROLES, "Who has which role, for grants and is_member; * is everyone.", "{analysts: [ada, tableau]}"),
    Key("access", DEFAULT_ACCESS, "What a table is that no grant has named.", "{default: deny}"),
)

PENSTOCK = Section(
    (
        *_SETTINGS,
        _EXTENDS,
        _PIPELINE,
        Key(
            "environments",
            MapOf(Section(tuple(replace(key, required=False) for key in _SETTINGS))),
            "Settings of --env NAME, which override those above; mappings are merged by key.",
            "{prod: {continuous: true}}",
        ),
    )
)
"""The keys of `penstock.yml`."""

SPARK_PIPELINE = Section(
    (_NAME_KEY, _LIBRARIES, _CATALOG, replace(_SCHEMA, aliases=("database",)), _STORAGE, _CONFIGURATION)
)
"""The keys of `spark-pipeline.yml`, the pipeline file of Apache Spark."""
