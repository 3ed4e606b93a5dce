"""Every key of the settings of a Databricks pipeline, which are the same in JSON, in YAML and in a bundle."""

from __future__ import annotations

from dataclasses import replace

from penstock.config.keys import EVENT_LOG, SPARK_PIPELINE, plain
from penstock.config.shapes import Effect, Flag, Foreign, Key, ListOf, Section, Shape, Text

_SPARK = {key.name: key for key in SPARK_PIPELINE.keys}


def _ignored(reason: str) -> Foreign:
    return Foreign(Effect.NOTICED, reason)


def _refused(reason: str) -> Foreign:
    return Foreign(Effect.REFUSED, reason)


_NOT_PYTHON = _refused("name jars in 'spark_conf' of a penstock.yml, as spark.jars")
_PACKAGE = _refused("install the package where penstock runs")
_PATH = Section((Key("path", Text(plain), "A file.", "/Workspace/project/orders", required=True),), open=True)
_INCLUDE = Section((Key("include", Text(plain), "Files.", "transformations/**", required=True),), open=True)

LIBRARY = Section(
    (
        Key("glob", _INCLUDE, "Files by pattern.", "{include: transformations/**}"),
        Key("file", _PATH, "A file.", "{path: transformations/orders.py}"),
        Key("notebook", _PATH, "A notebook, without its file extension.", "{path: notebooks/orders}"),
        *(Key(name, _NOT_PYTHON, "A Java library.", "...") for name in ("jar", "maven")),
        *(Key(name, _PACKAGE, "A Python package.", "...") for name in ("whl", "pypi", "requirements")),
    ),
    one_of=True,
)

_FOREIGN: dict[str, Shape] = {
    # How Databricks stores, names, bills and shows the pipeline.
    **dict.fromkeys(
        (
            "allow_duplicate_names",
            "budget_policy_id",
            "channel",
            "creator_user_name",
            "deployment",
            "development",
            "dry_run",
            "edition",
            "id",
            "last_modified",
            "lifecycle",
            "permissions",
            "photon",
            "pipeline_type",
            "run_as",
            "serverless",
            "tags",
            "usage_policy_id",
        ),
        Foreign(),
    ),
    "clusters": _ignored("Spark runs where 'master' of a penstock.yml says, with its 'spark_conf'"),
    "environment": _ignored("install its dependencies where penstock runs"),
    "filters": _ignored("name the files with 'libraries'"),
    "notifications": _ignored("the exit code of 'penstock run' says how it ended"),
    "parameters": _ignored("use 'configuration'"),
    "restart_window": _ignored("a continuous run continues until it is stopped"),
    "root_path": _ignored("modules are imported from the folders of the pipeline's files"),
    "schedule": _ignored("start 'penstock run' with the scheduler of your system"),
    "storage": _ignored("tables of Databricks are left alone; 'storage' of a penstock.yml or --storage says where"),
    "trigger": _ignored("start 'penstock run' with the scheduler of your system"),
    **dict.fromkeys(
        ("gateway_definition", "ingestion_definition"),
        _refused("managed ingestion is a service of Databricks; declare a table that reads the source"),
    ),
}

DATABRICKS = Section(
    (
        replace(_SPARK["name"]),
        Key("libraries", ListOf(LIBRARY), "The files of the pipeline.", "[{notebook: {path: orders}}]"),
        _SPARK["catalog"],
        replace(_SPARK["schema"], aliases=("target",)),
        _SPARK["configuration"],
        Key(
            "event_log",
            EVENT_LOG,
            "A Delta table that receives a copy of the event log.",
            "{schema: monitoring, name: events}",
        ),
        Key("continuous", Flag(), "Whether a run continues until it is stopped.", "true"),
        *(Key(name, shape, "", "") for name, shape in _FOREIGN.items()),
    ),
    open=True,
)
"""The keys of a Databricks pipeline's settings."""
