"""Compiles java/ into the jar that Penstock ships: python tools/compile_java.py [--check].

The same sources make the same bytes with any javac 17. The jar holds its sources too: with another javac, or none,
`--check` compares those only.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from penstock.spark.accelerators.own_classes import JAR
from penstock.spark.session.setup.class_path import SPARK_HOME
from penstock.spark.session.setup.jars import ensure_jars, jars_cached

SOURCES = Path(__file__).resolve().parent.parent / "java"
JAVA = "17"
_JARS = ("core", "s3")
_WHEN = (1980, 1, 1, 0, 0, 0)  # the same in every jar


def sources() -> dict[str, bytes]:
    """Returns the Java files by their path in the jar."""
    return {file.relative_to(SOURCES).as_posix(): file.read_bytes() for file in SOURCES.rglob("*.java")}


def compiled() -> dict[str, bytes]:
    """Returns the class files by their path in the jar."""
    class_path = [*(SPARK_HOME / "jars").glob("*.jar"), *(jar for name in _JARS for jar in ensure_jars(name))]
    with tempfile.TemporaryDirectory() as folder:
        command = ["javac", "--release", JAVA, "-Xlint:all,-path,-classfile", "-Werror", "-encoding", "UTF-8"]
        command += [
            "-cp",
            ":".join(map(str, class_path)),
            "-d",
            folder,
            *sorted(str(SOURCES / each) for each in sources()),
        ]
        if code := subprocess.run(command, check=False).returncode:  # javac has said why
            sys.exit(code)
        return {file.relative_to(folder).as_posix(): file.read_bytes() for file in Path(folder).rglob("*.class")}


def packed(files: dict[str, bytes]) -> bytes:
    """Returns a jar of these files, not compressed: what compresses differs between machines."""
    jar = io.BytesIO()
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry("META-INF/MANIFEST.MF"), b"Manifest-Version: 1.0\r\n\r\n")
        for name in sorted(files):
            archive.writestr(_entry(name), files[name])
    return jar.getvalue()


def is_current() -> bool:
    """Tells whether the jar is what the sources make, as far as this machine can."""
    if not (_can_compile() and all(map(jars_cached, _JARS))):
        with zipfile.ZipFile(JAR) as archive:
            return sources() == {name: archive.read(name) for name in archive.namelist() if name.endswith(".java")}
    return JAR.read_bytes() == packed(sources() | compiled())


def _can_compile() -> bool:
    if shutil.which("javac") is None:
        return False
    version = subprocess.run(["javac", "-version"], capture_output=True, text=True, check=True).stdout
    return version.startswith(f"javac {JAVA}.")


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _WHEN)
    entry.create_system = 3  # else it says on what system it was made
    entry.external_attr = 0o644 << 16
    return entry


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(not is_current())
    JAR.write_bytes(packed(sources() | compiled()))
