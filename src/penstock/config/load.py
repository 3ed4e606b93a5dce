"""From a folder, or a script, to a `PipelineConfig`: the file is found, checked, overlaid, and filled with defaults."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.config.files.library import Library, LibraryKind
from penstock.config.files.locate import PipelineFile, locate
from penstock.config.formats import Choice, FileSettings, read_file
from penstock.config.pipeline_config import (
    CLUSTER_TIMEOUT,
    EVENT_LOG_RETENTION,
    STOP_TIMEOUT,
    MaintenanceSettings,
    PipelineConfig,
    RetrySettings,
)
from penstock.config.profiles import STANDALONE_KEY, profile_settings
from penstock.config.reader import Placed, Settings, overlay
from penstock.config.references import Reference, references_in, values_of
from penstock.config.sections.access import access_settings
from penstock.config.sections.alerts import alert_settings
from penstock.config.sections.audit import audit_settings
from penstock.config.sections.catalogs import catalog_settings
from penstock.config.sections.lineage import lineage_settings
from penstock.config.sections.metrics import metrics_settings
from penstock.config.sections.serve import serve_settings
from penstock.config.values.secret import REFERENCE, SecretReference, refer
from penstock.config.values.trigger import effective_trigger
from penstock.errors import ConfigError, PipelineInvalid, SourceLocation, did_you_mean
from penstock.graph.identifier import Identifier
from penstock.storage import local_path

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_WITH_REFERENCES = {"alerts", "catalogs", "lineage", "metrics", "serve"}
"""Sections in which values may be references to secrets."""

Referred = Callable[[str, tuple[Any, ...], SourceLocation], SecretReference]
"""Makes the reference of a key from its source and target and its place."""


def load_project(
    directory: Path | str,
    *,
    environment: str | None = None,
    pipeline: str | None = None,
    overrides: Mapping[str, str] | None = None,
    storage: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> PipelineConfig:
    """Reads the pipeline file of a folder; reads no secret and touches no storage.

    Args:
        directory: the folder that holds a pipeline file (`locate` knows the names), or the file itself.
        environment: the entry of `environments` to lay over the file, the target of a bundle, or both.
        pipeline: which pipeline of a bundle; needed when it declares several.
        overrides: entries of `configuration` that win over the file and its environment.
        storage: wins over the file; relative to the current folder, where the user typed it.
        environ: where `${env:NAME}` looks, when a secret is resolved.

    Raises:
        ConfigError: the one thing that is wrong; every environment of the file is checked.
        PipelineInvalid: several things are wrong; its `errors` are ConfigErrors by line.
    """
    found = locate(directory)
    read = read_file(found, Choice(environment, pipeline, environ))
    for chosen in ({}, *(placed.value for placed in read.environments.values())):
        read.errors.extend(_unknown_secrets(overlay(read.settings, chosen)))
    if environment is not None and environment not in (*read.environments, *read.targets):
        read.errors.append(_unknown_environment(found, environment, (*read.environments, *read.targets)))
    _raise_all(read.errors)
    chosen = read.environments[environment].value if environment in read.environments else {}
    return _build(
        found,
        read,
        overlay(read.settings, chosen),
        environment=environment,
        overrides=overrides or {},
        storage=storage,
        environ=environ,
    )


def _build(
    found: PipelineFile,
    read: FileSettings,
    settings: Settings,
    *,
    environment: str | None,
    overrides: Mapping[str, str],
    storage: str | None,
    environ: Mapping[str, str],
) -> PipelineConfig:
    folder = found.path.parent
    values = _values(settings)
    secrets = {
        name: refer(name, *placed.value, directory=folder, environ=environ, location=placed.location)
        for name, placed in values.get("secrets", {}).items()
    }
    spark_conf: Settings = values.get("spark_conf", {})

    def referred(key: str, reference: tuple[Any, ...], location: SourceLocation) -> SecretReference:
        source, target = reference
        if source == "secret":
            return secrets[target]
        return refer(key, source, target, directory=folder, environ=environ, location=location)

    of_sections = {
        key: referred(key, (found.source, found.target), place) for key, found, place in _section_references(settings)
    }
    sections = {
        name: values_of(name, placed, of_sections) for name, placed in settings.items() if name in _WITH_REFERENCES
    }
    configuration = {**_values(values.get("configuration", {})), **overrides}
    # Other systems have one place for parameters and for what the session must know when it starts.
    of_session = {key: value for key, value in configuration.items() if key.startswith("spark.") and read.of_session}
    master = values.get("master") or of_session.get("spark.master", "local[*]")
    trigger = effective_trigger(values.get("trigger"), continuous=values.get("continuous", False))
    elastic = _values(values.get("cluster", {})).get("elastic", False)
    secured = _values(values.get("security", {})).get("cluster", False)
    of_profiles = profile_settings(elastic=elastic, secured=secured, master=master, trigger=trigger)
    if secured and master.startswith("spark://") and STANDALONE_KEY not in {**of_session, **spark_conf}:
        raise ConfigError("CLUSTER_SECRET_MISSING", location=settings["security"].location, master=master)
    own_storage = absolute_location(values.get("storage", read.storage), folder)
    return PipelineConfig(
        name=values["name"],
        directory=folder,
        file=SourceLocation(found.shown),
        environment=environment,
        libraries=tuple(_library(placed) for placed in values.get("libraries", ())),
        catalog=values.get("catalog"),
        schema=values.get("schema", "default"),
        storage=own_storage if storage is None else absolute_location(storage, Path.cwd()),
        storage_access=values.get("storage_access"),
        continuous=values.get("continuous", False),
        trigger=trigger,
        configuration=configuration,
        paths={name: absolute_location(text, folder) for name, text in _values(values.get("paths", {})).items()},
        stand_ins=Path(absolute_location(values["stand_ins"], folder)) if "stand_ins" in values else None,
        secrets=secrets,
        spark_conf={**of_profiles, **of_session, **_values(spark_conf)},
        master=master,
        cluster_timeout=values.get("cluster_timeout", CLUSTER_TIMEOUT),
        retries=RetrySettings(**_values(values.get("retries", {}))),
        stop_timeout=values.get("stop_timeout", STOP_TIMEOUT),
        strict=values.get("strict", False),
        maintenance=MaintenanceSettings(**_values(values.get("maintenance", {}))),
        alerts=alert_settings(sections.get("alerts", {}), folder, values.get("catalog")),
        metrics=metrics_settings(sections.get("metrics", {}), folder),
        lineage=lineage_settings(sections.get("lineage", {}), folder),
        catalogs=catalog_settings(settings["catalogs"], of_sections, folder) if "catalogs" in settings else (),
        audit=audit_settings(_values(values.get("audit", {}))),
        serve=serve_settings(sections.get("serve", {}), folder),
        access=access_settings(_values(values.get("roles", {})), _values(values.get("access", {})), _event_log(values)),
        event_log=_event_log(values),
        event_log_retention=_retention(values),
        references={**_references(spark_conf, referred), **of_sections},
        notices=tuple(read.notices),
        of_databricks=read.of_databricks,
    )


def _event_log(values: Mapping[str, Any]) -> Identifier | None:
    if "event_log" not in values:
        return None
    table = _values(values["event_log"])
    if "name" not in table:
        for placed in (values["event_log"][key] for key in ("schema", "catalog") if key in table):
            raise ConfigError(
                "CONFIG_MISSING_KEY", location=placed.location, key="event_log.name", example="name: orders_events"
            )
        return None
    own = values.get("catalog")
    catalog = table.get("catalog") if own is not None else None  # else it is not known which one is another
    return Identifier(table.get("schema") or values.get("schema", "default"), table["name"], catalog).within(own)


def _retention(values: Mapping[str, Any]) -> float | None:
    seconds = _values(values.get("event_log", {})).get("retention", EVENT_LOG_RETENTION)
    return None if math.isinf(seconds) else float(seconds)


def _values(settings: Settings) -> dict[str, Any]:
    return {name: placed.value for name, placed in settings.items()}


def _library(placed: Placed) -> Library:
    [(kind, section)] = placed.value.items()
    [path] = section.value.values()
    return Library(path.value, LibraryKind(kind), placed.location)


def _references(spark_conf: Settings, referred: Referred) -> dict[str, SecretReference]:
    return {
        match.group(0): referred(key, match.groups(), placed.location)
        for key, placed in spark_conf.items()
        for match in REFERENCE.finditer(placed.value)
    }


def _section_references(settings: Settings) -> Iterator[tuple[str, Reference, SourceLocation]]:
    for name in _WITH_REFERENCES & settings.keys():
        yield from references_in(name, settings[name])


def _unknown_secrets(settings: Settings) -> Iterable[ConfigError]:
    known = settings["secrets"].value if "secrets" in settings else {}
    used = [
        (f"spark_conf.{key}", reference, placed.location)
        for key, placed in (settings["spark_conf"].value if "spark_conf" in settings else {}).items()
        for reference in REFERENCE.findall(placed.value)
    ]
    used += [(key, (found.source, found.target), place) for key, found, place in _section_references(settings)]
    for key, (source, target), place in used:
        if source == "secret" and target not in known:
            yield ConfigError(
                "CONFIG_UNKNOWN_SECRET",
                location=place,
                key=key,
                secret=target,
                suggestion=did_you_mean(target, known),
            )


def _unknown_environment(found: PipelineFile, environment: str, known: Sequence[str]) -> ConfigError:
    also = f"Known: {', '.join(known)}." if known else f"{found.shown} declares none."
    return ConfigError(
        "CONFIG_UNKNOWN_ENVIRONMENT",
        location=SourceLocation(found.shown),
        environment=environment,
        suggestion=did_you_mean(environment, known, also=also),
    )


def _raise_all(errors: Iterable[ConfigError]) -> None:
    """Raises the errors by line, each once: an environment repeats what is wrong below it."""
    distinct = {(error.location, error.condition, *error.facts.items()): error for error in errors}
    ordered = sorted(distinct.values(), key=lambda error: (error.location.line or 0) if error.location else 0)
    if len(ordered) == 1:
        raise ordered[0]
    if ordered:
        raise PipelineInvalid(ordered)


def absolute_location(text: str, folder: Path) -> str:
    """Returns a URI as it is, and a path, which a `file:` URI is too, absolute, with `~` expanded."""
    text = local_path(text)
    return text if _URI.match(text) else os.path.normpath(folder / os.path.expanduser(text))


_STORAGE = ".penstock"


def load_script(
    file: Path | str, *, environment: str | None = None, pipeline: str | None = None, storage: str | None = None
) -> PipelineConfig:
    """Returns the settings of a script: those of the pipeline file beside it, if there is one, else the defaults.

    Each script has a storage of its own, `scripts/<name>` in that of the folder, unless `storage` names one. The
    script's name is that of its file. `environment` and `pipeline` choose in the pipeline file, as for `load_project`.

    Raises:
        ConfigError: SCRIPT_NOT_READABLE, or what `load_project` says of the pipeline file.
    """
    path = Path(os.path.abspath(os.path.expanduser(file)))
    if not path.is_file():
        raise ConfigError("SCRIPT_NOT_READABLE", path=file, reason="there is no such file")
    try:
        beside = load_project(path.parent, environment=environment, pipeline=pipeline)
    except ConfigError as missing:
        if missing.condition != "PIPELINE_NOT_FOUND" or environment or pipeline:
            raise
        beside = PipelineConfig(
            name=path.stem,
            directory=path.parent,
            file=SourceLocation(str(file)),
            storage=absolute_location(_STORAGE, path.parent),
            trigger=effective_trigger(None, continuous=False),
        )
    own = f"{beside.storage.rstrip('/')}/scripts/{path.stem}"
    return replace(
        beside,
        name=path.stem,
        schema=path.stem,
        file=SourceLocation(str(file)),
        libraries=(),
        storage=own if storage is None else absolute_location(storage, Path.cwd()),
    )
