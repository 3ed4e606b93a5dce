"""Connectors, found by their entry points: those of `penstock.connectors`, and those of other packages."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, PackageNotFoundError, distribution, entry_points
from typing import TYPE_CHECKING, Final

from penstock.errors import ConfigError, first_line
from penstock.spark.sources.option import Option
from penstock.spark.sources.source import Source

if TYPE_CHECKING:  # whoever only reads does not load the sinks
    from penstock.spark.sinks.sink import Sink

GROUP: Final = "penstock.connectors"
"""The group of entry points; the name of an entry point is that of the format."""

_PENSTOCK: Final = "penstock"


@dataclass(frozen=True, slots=True)
class Connector:
    """What an entry point names: how a format is read, written, or both.

    With `batches_by_spark`, `spark.read` of the format is left to Spark, which has a reader of its own.
    """

    source: Source | None = None
    sink: Sink | None = None
    batches_by_spark: bool = False


@dataclass(frozen=True, slots=True)
class Installed:
    """A connector and the package that it comes from, with its version."""

    connector: Connector
    package: str
    own: bool = False

    @property
    def code(self) -> str | None:
        """Whose code it is, to a person; None for Penstock's own."""
        return None if self.own else f"the connector of the package {self.package}"


@cache
def installed(kind: str) -> Installed | None:
    """Returns the connector for a format, in lower case; None when no package has one.

    Nothing but that entry point is loaded, and only now: a start without such a format pays nothing. No other package
    can take a format of Penstock's own.

    Raises:
        ConfigError: CONNECTOR_UNUSABLE.
    """
    found = [each for each in _own_entry_points(kind) if each.name == kind]
    own = bool(found)
    if not own:
        found = [each for each in entry_points(group=GROUP) if each.name.casefold() == kind]
    if not found:
        return None
    first, *others = found
    if others:
        also = ", ".join(_package(each) for each in others)
        raise _unusable(first, f"{also} offers the same format, and it is unclear which one is meant")
    try:
        connector = first.load()
    except Exception as error:
        raise _unusable(first, f"it cannot be loaded ({type(error).__name__}: {first_line(error)})") from error
    if (wrong := _wrong(connector)) is not None:
        raise _unusable(first, wrong)
    return Installed(connector, _package(first), own)


def installed_formats() -> tuple[str, ...]:
    """Returns the formats of all installed connectors, without loading one."""
    return tuple(sorted({each.name for each in entry_points(group=GROUP)}))


def _wrong(connector: object) -> str | None:
    """What is missing in what an entry point names; Python itself would only say it in the middle of a run."""
    if not isinstance(connector, Connector):
        return f"it names a {type(connector).__name__}, and no penstock.connectors.Connector"
    if connector.source is None and connector.sink is None:
        return "it has neither a source nor a sink"
    parts = (
        ("source", connector.source, ("options", "replayable", "stream")),
        ("sink", connector.sink, ("options", "promise", "takes_updates", "open")),
    )
    for part, given, names in parts:
        if given is None:
            continue
        if missing := [name for name in names if not hasattr(given, name)]:
            return f"its {part} has no {', '.join(missing)}"
        if not all(isinstance(each, Option) for each in given.options or ()):
            return f"the options of its {part} are no penstock.connectors.Option"
    promise: object = None if connector.sink is None else connector.sink.promise
    return (
        None
        if promise is None or isinstance(promise, Enum)
        else "the promise of its sink is no penstock.connectors.Promise"
    )


def _unusable(entry_point: EntryPoint, reason: str) -> ConfigError:
    name = entry_point.dist.name if entry_point.dist is not None else entry_point.module
    return ConfigError(
        "CONNECTOR_UNUSABLE",
        format=entry_point.name,
        package=_package(entry_point),
        entry_point=entry_point.value,
        reason=reason,
        name=name,
    )


def _own_entry_points(kind: str) -> EntryPoints:
    """Those of Penstock itself, found without the metadata of all other packages.

    A copy without its metadata is refused: a jdbc sink, say, would be Spark's, and no longer exactly once.
    """
    known = EntryPoints()
    with suppress(PackageNotFoundError):
        known = distribution(_PENSTOCK).entry_points.select(group=GROUP)
    if not known:
        reason = "its metadata is missing or older than its code"
        raise ConfigError(
            "CONNECTOR_UNUSABLE", format=kind, package=_PENSTOCK, entry_point=GROUP, reason=reason, name=_PENSTOCK
        )
    return known


def _package(entry_point: EntryPoint) -> str:
    if entry_point.dist is None:
        return entry_point.module
    return f"{entry_point.dist.name} {entry_point.dist.version}"
