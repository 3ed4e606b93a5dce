"""Spark sessions: one factory, with Penstock's defaults under the user's settings."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from penstock.config.values.secret import secrets_pattern
from penstock.errors import ConfigError, ExternalError, PenstockError, StateError
from penstock.spark.accelerators.accelerator import CLASS_ARCHIVE
from penstock.spark.accelerators.callbacks import accept_calls_after_shortages, require_secret_of_callbacks
from penstock.spark.accelerators.gateway_lookups import remember_lookups
from penstock.spark.accelerators.hadoop_conf import prune_hadoop_conf
from penstock.spark.accelerators.tcp_quickack import enable_tcp_quickack
from penstock.spark.session.defaults import Machine
from penstock.spark.session.driver_log import cause, leave_out_of_log, report_failures_only_once
from penstock.spark.session.driver_process import DriverProcess
from penstock.spark.session.launch import SessionConfig, launched, worker_python
from penstock.spark.session.python_shipping import ship_python
from penstock.spark.session.setup.cache import Progress
from penstock.spark.session.setup.class_archive import make_in_background
from penstock.spark.session.start_limit import refused_by_kubernetes, start_limit


@dataclass(slots=True)
class _Running:
    """The one session of this process."""

    driver: DriverProcess
    config: SessionConfig
    after_stop: Callable[[], None]
    seconds_to_stop: float = 10.0
    lent: SparkSession | None = None


class OtherSettingsError(BaseException):
    """A session is lent, and who asks for one wants another; no `except Exception` may take it for a failure."""


_running: _Running | None = None


def start_session(config: SessionConfig, *, progress: Progress | None = None) -> SparkSession:
    """Starts Spark and returns its session; the first start of a user fetches what is missing.

    `progress` gets one line of text per step. One session per process, unless it is lent (`lend`); after `stop_session`
    another may follow, with other settings. Python's handler of Ctrl-C stays what it was. If this process dies,
    however, the JVM ends too.

    Raises:
        OtherSettingsError: the session that is lent has others.
        ConfigError: JAVA_TOO_OLD, JAVA_HOME_INVALID, JAVA_NOT_FOUND, CACHE_NOT_WRITABLE, MAVEN_MIRROR_INVALID,
            SPARK_SETTING_INVALID, YARN_NOT_CONFIGURED, KUBERNETES_IMAGE_MISSING, SPARK_NOT_AUTHENTICATED,
            SPARK_CONNECT_UNSUPPORTED, DEPLOY_MODE_UNSUPPORTED.
        ExternalError: JARS_DOWNLOAD_FAILED, JARS_CHECKSUM_MISMATCH, JVM_NOT_STARTED, SPARK_START_FAILED,
            CLUSTER_START_TIMEOUT, KUBERNETES_REFUSED, YARN_QUEUE_TIMEOUT.
        StateError: SPARK_ALREADY_RUNNING.
    """
    global _running  # noqa: PLW0603 - PySpark itself allows one context per process
    if _running is not None and _running.lent is not None:
        if config != _running.config:
            raise OtherSettingsError
        return _running.lent
    if SparkContext._active_spark_context is not None:
        raise StateError("SPARK_ALREADY_RUNNING", name=SparkContext._active_spark_context.appName)
    report_failures_only_once()
    launch = launched(config, progress=progress or (lambda _line: None))
    port, secret = launch.address()
    _running = _Running(launch.driver, config, after_stop=lambda: _make_archive(launch.archive))
    if config.class_archive_to_record:
        _running.after_stop, _running.seconds_to_stop = (lambda: None), 300.0
    try:
        return _connect(_running.driver, port, secret, config)
    except BaseException as error:
        refusal = _refusal(error, config, _running.driver.log)  # before the end: Java is asked for its message
        _end_session(None)
        if refusal is not None:
            raise refusal from None
        raise


def running_session() -> SparkSession | None:
    """Returns the session of this process, whoever started it; None when there is none."""
    return None if SparkContext._active_spark_context is None else SparkSession.builder.getOrCreate()


def lend(spark: SparkSession | None) -> None:
    """Has `start_session` return `spark`, another session on the same Spark, until it is called with None."""
    assert _running is not None, "somebody has started Spark"
    _running.lent = spark
    if spark is not None:
        _set_other_settings(spark, _running.config)


def release_forgotten_objects(spark: SparkSession) -> None:
    """Has Java release what Python forgets from now on, which a session for short work does not."""
    gateway: Any = spark.sparkContext._gateway
    gateway.gateway_property.enable_memory_management = True


def stop_session(spark: SparkSession) -> None:
    """Stops `spark` and its JVM, and waits for the JVM's end: 10 seconds at most, then it is killed.

    Safe to call when the JVM is gone already. Streaming queries that still run are interrupted; stop them first.
    """
    running = _running
    _end_session(spark)
    if running is not None:
        running.after_stop()


def driver_log() -> Path | None:
    """Returns the file with what Spark has to say in the running session, None when there is none."""
    return _running.driver.log if _running else None


def jvm_exit_code(*, within: float = 0.0) -> int | None:
    """Returns the exit code of a JVM that ended by itself, for instance -9 when it was killed; None while it runs.

    A dying JVM refuses connections before it is gone: after a failed call give it a second, `within=1`.
    """
    return _running.driver.wait(within) if _running else None


def _connect(driver: DriverProcess, port: int, secret: str, config: SessionConfig) -> SparkSession:
    machine = Machine.of(config.master)
    connection = {
        "PYSPARK_GATEWAY_PORT": str(port),
        "PYSPARK_GATEWAY_SECRET": secret,
        "PYSPARK_PYTHON": worker_python(config, machine),
    }
    remember_lookups()
    enable_tcp_quickack()
    accept_calls_after_shortages()
    with _environment(connection), _interrupt_handler_kept():
        gateway = launch_gateway()  # with the two variables above it connects and launches nothing
        gateway.proc = driver.process
        require_secret_of_callbacks(gateway, secret)
        if config.short_lived:
            # For each Java object that Python forgets, one more message; this JVM soon forgets them all.
            gateway.gateway_property.enable_memory_management = False
        with start_limit(driver, config):
            context = SparkContext(gateway=gateway)
        _require_image(context, config.master)
        session = SparkSession.builder.getOrCreate()
    if secrets := secrets_pattern():
        leave_out_of_log(gateway, secrets)
    _set_other_settings(session, config)
    prune_hadoop_conf(session, local=machine.local)
    if not machine.local:
        ship_python(context, config.python_roots, driver.folder)
    return session


def _set_other_settings(session: SparkSession, config: SessionConfig) -> None:
    in_force = session.conf  # Spark checks the SQL settings now, or else at the first query
    for key, value in config.spark_conf.items():
        if not key.startswith("spark."):  # Spark's submit takes only its own keys; pipelines.* and the like go here
            in_force.set(key, value)


def _require_image(context: SparkContext, master: str) -> None:
    """Without an image Spark asks for executors again and again, and says so in its log only."""
    images = ("spark.kubernetes.executor.container.image", "spark.kubernetes.container.image")
    if master.startswith("k8s://") and not any(context.getConf().contains(key) for key in images):
        raise ConfigError("KUBERNETES_IMAGE_MISSING", master=master)


def _end_session(spark: SparkSession | None) -> None:
    global _running
    ended, _running = _running, None
    gateway: Any = SparkContext._gateway
    with warnings.catch_warnings(), suppress(Py4JError, OSError):
        warnings.simplefilter("ignore")  # PySpark warns when the JVM is gone, which is no news here
        if spark is not None:
            spark.stop()
    if gateway is not None:
        with suppress(Py4JError, OSError):
            gateway.shutdown()
    # What PySpark forgets to reset when the JVM is gone; another session may follow in this process.
    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    if ended is not None:
        ended.driver.stop(ended.seconds_to_stop)
        shutil.rmtree(ended.driver.folder, ignore_errors=True)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _interrupt_handler_kept() -> Iterator[None]:
    """PySpark's handler cancels all jobs; a run wants to finish its batch instead."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _refusal(error: BaseException, config: SessionConfig, log: Path) -> PenstockError | None:
    """Returns what an error of Spark's start means: a setting that it refuses by name, or something else."""
    if not isinstance(error, (Py4JError, PySparkException, OSError)):
        return None
    reason = _first_line(error)
    for key, value in config.spark_conf.items():
        if key in reason:
            return ConfigError("SPARK_SETTING_INVALID", key=key, value=value, expected=f"what Spark accepts ({reason})")
    if refused := refused_by_kubernetes(config.master, log):
        return refused
    if config.on_cluster:
        reason = cause(log) or reason
    return ExternalError("SPARK_START_FAILED", master=config.master, reason=reason, log=log)


def _first_line(error: BaseException) -> str:
    java: Any = getattr(error, "java_exception", None)
    text = str(java.getMessage()) if java is not None else str(error)
    return (text.strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _make_archive(archive: Path) -> None:
    if CLASS_ARCHIVE.applies():
        make_in_background(archive)
