"""Compiles java/ into the jar that Penstock ships: python tools/compile_java.py [--check].

The compiler is javac as a locked jar (Frgaal), with the classes of Java 17 inside: it runs on the Java that runs Spark,
a JRE is enough, and makes the same bytes on any machine. The jar holds its sources too.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from penstock.spark.accelerators.own_classes import JAR
from penstock.spark.session.setup.jars import ensure_jars
from penstock.spark.session.setup.java import find_java
from penstock.spark.session.setup.known_jars import SPARK_HOME

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
    [compiler] = ensure_jars("compiler")
    with tempfile.TemporaryDirectory() as folder:
        command = [str(find_java().executable), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", str(compiler)]
        command += ["--release", JAVA]
        command += ["-Xlint:all,-path,-classfile,-serial", "-Werror", "-encoding", "UTF-8"]
        command += ["-cp", ":".join(map(str, class_path)), "-d", folder]
        command += sorted(str(SOURCES / each) for each in sources())
        if code := subprocess.run(command, check=False).returncode:  # the compiler has said why
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
    """Tells whether the jar is what the sources make."""
    return JAR.read_bytes() == packed(sources() | compiled())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _WHEN)
    entry.create_system = 3  # else it says on what system it was made
    entry.external_attr = 0o644 << 16
    return entry


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(not is_current())
    JAR.write_bytes(packed(sources() | compiled()))
