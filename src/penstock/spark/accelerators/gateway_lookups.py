"""Remembers what py4j asks the JVM again at each use: packages, classes and static methods.

PySpark writes `jvm.org.apache.spark.sql.functions.col(…)`, which is seven round trips for one call; with the names
remembered it is one. The answers cannot change, because a JVM never unloads these classes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView

from penstock.spark.accelerators.accelerator import GATEWAY_LOOKUPS


def remember_lookups() -> None:
    """Makes py4j's views, packages and classes keep the names that they have found; once per process."""
    if GATEWAY_LOOKUPS.applies():
        _patch()


@functools.cache
def _patch() -> None:
    for owner in (JVMView, JavaPackage, JavaClass):
        _remember(owner)


def _remember(owner: type) -> None:
    ask: Callable[[Any, str], Any] = owner.__getattr__  # type: ignore[attr-defined]

    @functools.wraps(ask)
    def look_up(self: Any, name: str) -> Any:
        found = ask(self, name)
        if _stays(name, found):
            self.__dict__[name] = found  # from now on Python finds it and does not ask
        return found

    owner.__getattr__ = look_up  # type: ignore[attr-defined]


def _stays(name: str, found: object) -> bool:
    """Static fields can change, and what py4j takes for a package can be a class of a jar that comes later."""
    if isinstance(found, JavaPackage):
        return name.islower()
    return isinstance(found, (JavaClass, JavaMember))
