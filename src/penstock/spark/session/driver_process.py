"""The JVM that holds Spark's driver: its command line, its start, its end.

Penstock starts `java` itself, where PySpark would start a shell script that starts a JVM that prints the command for
the JVM: that saves half a second, gives the class path an order that a class archive can rely on, and needs no more of
Java than the bundled runtime has. Python holds the other end of the JVM's standard input; when Python dies, however
it dies, the JVM reads the end of the file and exits.
"""

from __future__ import annotations

import os
import re
import shlex
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from penstock.errors import ConfigError, ExternalError
from penstock.spark.session.setup.children import ends_with_us
from penstock.spark.session.setup.java import Java
from penstock.spark.session.setup.known_jars import SPARK_HOME
from penstock.storage.process import birth_mark

_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")
_CONNECTION, _SETTINGS, _ARGUMENTS = "connection", "spark.properties", "java.arguments"  # files of one start
_START_SECONDS = 180
_LOGS_KEPT = 20
_SAYS_NOTHING = (
    "Error occurred during initialization of VM",
    "Error: Could not create the Java Virtual Machine",
    "Error: A fatal exception has occurred",
    "Picked up ",
)

# What Spark's own launcher passes (JavaModuleOptions in Spark 4.2.0; a test compares the two), without the incubator
# module that only MLlib uses and that the bundled runtime lacks.
_OPENED_PACKAGES = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED_PACKAGES),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)


@dataclass(slots=True)
class DriverProcess:
    """A JVM with a Py4J gateway; `folder` is this session's own temporary folder."""

    process: subprocess.Popen[bytes] = field(repr=False)
    java: Java
    log: Path
    folder: Path

    def address(self) -> tuple[int, str]:
        """Waits until the JVM accepts connections; returns its port and secret, once.

        Raises:
            ExternalError: JVM_NOT_STARTED, with the line of the log that says why.
        """
        try:
            address = _wait_for_connection(self.process, self.folder / _CONNECTION, self.java, self.log)
        except BaseException:
            self.process.kill()
            _close_and_wait(self.process, None)
            raise
        for used in (_CONNECTION, _SETTINGS, _ARGUMENTS):
            (self.folder / used).unlink(missing_ok=True)
        return address

    def wait(self, seconds: float) -> int | None:
        """Waits up to `seconds` for the JVM's end; returns its exit code, None when it still runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.process.wait(seconds)
        return None

    def stop(self, seconds: float = 10.0) -> None:
        """Ends the JVM: asks by closing its standard input, and kills it when it has not ended after `seconds`."""
        try:
            _close_and_wait(self.process, seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_driver(
    java: Java,
    conf: Mapping[str, str],
    class_path: Sequence[Path],
    *,
    folder: Path,
    logs: Path,
    java_options: Sequence[str] = (),
    environ: Mapping[str, str],
) -> DriverProcess:
    """Starts the JVM; `address` of the result waits until it accepts connections.

    `conf` reaches it in a file that only this user can read, because it may hold secrets and command lines are
    public. What the JVM prints on standard output goes to our standard error, its errors and its log to a file in
    `logs`.

    Raises:
        ConfigError: SPARK_SETTING_INVALID for a driver setting that Java refuses.
    """
    log = _new_log(logs)
    settings = folder / _SETTINGS
    settings.write_text("".join(f"{_escape(key)}={_escape(value)}\n" for key, value in conf.items()), "ascii")
    arguments = folder / _ARGUMENTS
    options = ["-cp", os.pathsep.join(_class_path(conf, class_path)), *MODULE_OPTIONS, *_jvm_options(conf, log)]
    arguments.write_text("".join(f"{_quote(option)}\n" for option in [*options, *java_options]), "utf-8")
    command = [str(java.executable), f"@{arguments}", "org.apache.spark.deploy.SparkSubmit"]
    command += ["--properties-file", str(settings)]
    if not conf["spark.master"].startswith("local"):
        command.append("--load-spark-defaults")
    with open(log, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as errors:
        process = subprocess.Popen(
            [*command, "pyspark-shell"],
            stdin=subprocess.PIPE,
            stdout=sys.__stderr__.fileno() if sys.__stderr__ is not None else subprocess.DEVNULL,
            stderr=errors,
            env={**environ, **_environment(conf), "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folder / _CONNECTION)},
            start_new_session=True,  # Ctrl-C is for Python, which stops the flows first
        )
    ends_with_us(process)
    return DriverProcess(process, java, log, folder)


def _close_and_wait(process: subprocess.Popen[bytes], seconds: float | None) -> None:
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    process.wait(seconds)


def _wait_for_connection(process: subprocess.Popen[bytes], connection: Path, java: Java, log: Path) -> tuple[int, str]:
    deadline = time.monotonic() + _START_SECONDS
    while not connection.exists():
        if process.poll() is not None:
            _refuse(java, log, f"it ended with code {process.returncode}")
        if time.monotonic() > deadline:
            _refuse(java, log, f"it did not answer within {_START_SECONDS} seconds")
        time.sleep(0.01)
    content = connection.read_bytes()
    port, length = struct.unpack(">ii", content[:8])
    return port, content[8 : 8 + length].decode()


def _refuse(java: Java, log: Path, end: str) -> NoReturn:
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(_SAYS_NOTHING)]
    errors = [line for line in lines if line.startswith(("Error", "Exception", "Invalid", "Unrecognized"))]
    reason = (errors or lines or [end])[0].rstrip(".")
    raise ExternalError("JVM_NOT_STARTED", java=java.executable, reason=reason, log=log)


def _class_path(conf: Mapping[str, str], jars: Sequence[Path]) -> list[str]:
    entries = [conf["spark.driver.extraClassPath"]] if "spark.driver.extraClassPath" in conf else []
    entries += [str(jar) for jar in jars]
    if not conf["spark.master"].startswith("local"):
        entries += [os.environ[name] for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR") if os.environ.get(name)]
    return entries


def _jvm_options(conf: Mapping[str, str], log: Path) -> list[str]:
    options = [
        f"-Xmx{_memory(conf)}",
        "-XX:+DisplayVMOutputToStderr",  # into the log
        f"-XX:ErrorFile={log.with_suffix('.crash')}",  # else in the current folder
        f"-Dpenstock.log={log}",
        f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION.as_uri()}",
    ]
    for key in ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions"):
        try:
            options += shlex.split(conf.get(key, ""))
        except ValueError:
            raise ConfigError(
                "SPARK_SETTING_INVALID", key=key, value=conf[key], expected="Java options, quoted as in a shell"
            ) from None
    # Java refuses two collectors; the last one named is the user's.
    collectors = [option for option in options if re.fullmatch(r"-XX:\+Use\w+GC", option)]
    return [option for option in options if option not in collectors[:-1]]


def _memory(conf: Mapping[str, str]) -> str:
    value = conf["spark.driver.memory"]
    number = value.rstrip("bBkKmMgGtT")
    unit = value[len(number) :].lower().removesuffix("b") or "m"
    if not number.isdigit() or unit not in {"k", "m", "g", "t"}:
        raise ConfigError(
            "SPARK_SETTING_INVALID", key="spark.driver.memory", value=value, expected="a size such as 2g or 1500m"
        )
    return number + unit


def _environment(conf: Mapping[str, str]) -> dict[str, str]:
    environment = {"SPARK_HOME": str(SPARK_HOME), "SPARK_SCALA_VERSION": "2.13", "SPARK_CONNECT_MODE": "0"}
    if conf.get("spark.driver.host") == "127.0.0.1":
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"  # saves a look-up of this machine's own name
    if not {"LC_ALL", "LC_CTYPE", "LANG"} & os.environ.keys() and sys.platform == "linux":
        environment["LC_ALL"] = "C.UTF-8"  # else file names with letters beyond ASCII cannot be opened
    if "spark.driver.extraLibraryPath" in conf:
        known = os.environ.get("LD_LIBRARY_PATH", "")
        environment["LD_LIBRARY_PATH"] = f"{conf['spark.driver.extraLibraryPath']}{os.pathsep}{known}"
    return environment


def _new_log(logs: Path) -> Path:
    old = sorted(log for log in logs.glob("spark-*") if not _is_written(log))
    for log in old[: max(0, len(old) - _LOGS_KEPT)]:
        log.unlink(missing_ok=True)
    return logs / f"spark-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}.log"


def _is_written(log: Path) -> bool:
    """Whether the process lives whose id is in the log's name: its log is not removed, however many are newer."""
    found = re.search(r"-(\d+)\.log", log.name)
    return found is not None and birth_mark(int(found.group(1))) is not None


def _escape(text: str) -> str:
    """Returns `text` as a key or value of a Java properties file."""
    special = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "=": "\\=", ":": "\\:", " ": "\\ "}
    special |= {"#": "\\#", "!": "\\!", "\f": "\\f"}
    escaped = "".join(special.get(letter, letter) for letter in text)
    utf16 = escaped.encode("utf-16-be")
    units = struct.unpack(f">{len(utf16) // 2}H", utf16)
    return "".join(chr(unit) if unit < 128 else f"\\u{unit:04x}" for unit in units)


def _quote(option: str) -> str:
    """Returns `option` as a line of a Java argument file."""
    return '"' + option.replace("\\", "\\\\").replace('"', '\\"') + '"'
