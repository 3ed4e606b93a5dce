"""The start of Spark's JVM, without PySpark: it takes a second in which Python has its own modules to load.

A command calls `launch_ahead` as soon as it knows the pipeline's settings; `start_session` then finds the JVM half
way up. Without that call it launches one itself.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from penstock.config import PipelineConfig
from penstock.config.pipeline_config import CLUSTER_TIMEOUT
from penstock.errors import ExternalError, PenstockError, SourceLocation
from penstock.spark.accelerators.accelerator import CLASS_ARCHIVE, choose
from penstock.spark.accelerators.own_classes import SHARED_STORAGE, SHARED_STORAGE_FOLDER, own_jars
from penstock.spark.session.cluster.settings import (
    require_authentication,
    require_own_driver,
    require_resource_manager,
)
from penstock.spark.session.defaults import Machine, session_conf
from penstock.spark.session.driver_process import DriverProcess, start_driver
from penstock.spark.session.object_store_jars import object_store_jar_sets
from penstock.spark.session.python_shipping import local_python_path
from penstock.spark.session.setup.cache import Progress, cache_path, log_folder
from penstock.spark.session.setup.class_archive import archive_path, options_to_record, options_to_use
from penstock.spark.session.setup.jars import ensure_jars, jars_cached
from penstock.spark.session.setup.java import Java, find_java, java_home_for_spark
from penstock.spark.session.setup.known_jars import spark_class_path
from penstock.storage import local_path
from penstock.storage.new_files import process_umask


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """What a session is to be.

    `spark_conf` holds the user's settings, secrets resolved; they win over every default of `defaults.py`.
    `python_roots` are folders whose Python files the executors can import. `jar_sets` names further locked sets.
    `short_lived` compiles less: a start takes half the processor time, long work takes longer; for `validate` and
    `plan`. With `call_sites` Spark records even then where a Column was made. `warehouse` is where tables without a
    path go that a user creates outside the pipeline; a temporary folder when None. `cluster_timeout` is how many
    seconds a cluster may take to accept the application. `class_archive_to_record` is for `class_archive_training`
    only. `file` is where the settings come from. `storage` is where the pipeline's tables go: when it is on a local
    path, executors that do not see it are not allowed to work.
    """

    name: str
    master: str = "local[*]"
    spark_conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    python_roots: Sequence[Path] = ()
    jar_sets: Sequence[str] = ()
    short_lived: bool = False
    call_sites: bool = False
    warehouse: str | None = None
    cluster_timeout: float = CLUSTER_TIMEOUT
    class_archive_to_record: Path | None = None
    file: SourceLocation | None = field(default=None, compare=False)
    storage: str | None = None

    @property
    def on_cluster(self) -> bool:
        """Whether tasks run in executors, which are processes of their own."""
        return not Machine.of(self.master).local

    @staticmethod
    def of(pipeline: PipelineConfig, *, short_lived: bool) -> SessionConfig:
        """Returns the session that `pipeline` asks for.

        Raises:
            ConfigError: SECRET_NOT_FOUND.
        """
        spark_conf = pipeline.resolve_spark_conf()
        return SessionConfig(
            name=pipeline.name,
            master=pipeline.master,
            spark_conf=spark_conf,
            python_roots=(pipeline.directory,),
            jar_sets=object_store_jar_sets(pipeline, spark_conf),
            short_lived=short_lived,
            call_sites=short_lived and pipeline.expects_null(),
            cluster_timeout=pipeline.cluster_timeout,
            file=pipeline.file,
            storage=pipeline.storage,
        )


@dataclass(slots=True)
class Launch:
    """A JVM on its way up; `archive` is the class archive that it would use best, there or not."""

    config: SessionConfig
    driver: DriverProcess
    archive: Path
    _without_archive: Callable[[], DriverProcess] | None = field(repr=False)

    def address(self) -> tuple[int, str]:
        """Waits until the JVM accepts connections; returns its port and secret.

        A class archive that keeps Java from starting is removed, and Java started without it.

        Raises:
            ExternalError: JVM_NOT_STARTED.
        """
        if self._without_archive is None:
            return self.driver.address()
        with suppress(ExternalError):
            return self.driver.address()
        self.driver = self._without_archive()
        address = self.driver.address()
        self.archive.unlink(missing_ok=True)
        return address


_ahead: Launch | None = None


def launch(config: SessionConfig, *, progress: Progress) -> Launch:
    """Launches the JVM of a session and does not wait for it; the first launch of a user fetches what is missing.

    Raises:
        ConfigError: JAVA_TOO_OLD, JAVA_HOME_INVALID, JAVA_NOT_FOUND, CACHE_NOT_WRITABLE, MAVEN_MIRROR_INVALID,
            SPARK_SETTING_INVALID, YARN_NOT_CONFIGURED, SPARK_NOT_AUTHENTICATED, SPARK_CONNECT_UNSUPPORTED,
            DEPLOY_MODE_UNSUPPORTED.
        ExternalError: JARS_DOWNLOAD_FAILED, JARS_CHECKSUM_MISMATCH.
    """
    choose(config.spark_conf)
    require_own_driver(config.master, config.spark_conf, file=config.file)
    require_authentication(config.master, config.spark_conf, file=config.file)
    if config.master == "yarn":
        require_resource_manager(config.spark_conf)
    java = find_java()
    jars = ensure_jars("core", java=java, progress=progress)
    archive = archive_path(java, spark_class_path(jars))  # holds for every class path that begins with these
    for name in config.jar_sets:
        jars += ensure_jars(name, java=java, progress=progress)
    folder = Path(tempfile.mkdtemp(prefix="penstock-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    progress(_starting(config))

    def start(options: Sequence[str] = ()) -> DriverProcess:
        return _start_jvm(config, java, jars, folder, options)

    if config.class_archive_to_record:
        return Launch(config, start(options_to_record(config.class_archive_to_record)), archive, None)
    quick = options_to_use(archive) if CLASS_ARCHIVE.applies() else []
    return Launch(config, start(quick), archive, start if quick else None)


def launch_ahead(pipeline: PipelineConfig, *, short_lived: bool) -> None:
    """Launches the JVM for which `start_session` will soon ask; an unused one ends with this process.

    Does nothing when Spark runs in this process, or anything is missing or wrong: `start_session` then fetches it, or
    says what it is.
    """
    global _ahead  # noqa: PLW0603 - as PySpark allows one session per process
    pyspark = sys.modules.get("pyspark.core.context")
    if pyspark is not None and pyspark.SparkContext._active_spark_context is not None:
        return
    with suppress(PenstockError, OSError):
        if _ahead is None:
            config = SessionConfig.of(pipeline, short_lived=short_lived)
            if all(jars_cached(name) for name in ("core", *config.jar_sets)):
                _ahead = launch(config, progress=lambda _line: None)
                atexit.register(_abandon)


def launched(config: SessionConfig, *, progress: Progress) -> Launch:
    """Returns the JVM that was launched ahead with exactly these settings, else launches one; raises as `launch`."""
    global _ahead  # noqa: PLW0603
    ready = _ahead
    if ready is None or ready.config != config:
        _abandon()
        return launch(config, progress=progress)
    progress(_starting(config))
    _ahead = None
    return ready


def _abandon() -> None:
    global _ahead  # noqa: PLW0603
    if _ahead is not None:
        _ahead.driver.stop(seconds=0)
        _ahead = None


def _starting(config: SessionConfig) -> str:
    return f"Starting Spark on {config.master}"


def _start_jvm(
    config: SessionConfig, java: Java, jars: Sequence[Path], folder: Path, java_options: Sequence[str]
) -> DriverProcess:
    machine = Machine.of(config.master)
    environ = dict(os.environ)
    environ["JAVA_HOME"] = str(java_home_for_spark(java, cache_path()))
    environ["PYSPARK_PYTHON"] = worker_python(config, machine)
    environ["PYTHONPATH"] = local_python_path(config.python_roots, environ.get("PYTHONPATH", ""))
    own = [] if config.class_archive_to_record else own_jars()
    return start_driver(
        java,
        session_conf(machine, config.spark_conf, _structure(config, machine, jars, folder)),
        [*spark_class_path(jars), *own],
        folder=folder,
        logs=log_folder(),
        java_options=[*(["-XX:TieredStopAtLevel=1"] if config.short_lived else []), *java_options],
        environ=environ,
    )


def _structure(
    config: SessionConfig, machine: Machine, jars: Sequence[Path], folder: Path
) -> Iterator[tuple[str, str]]:
    """Yields the settings that follow from where the session runs, not from taste."""
    yield "spark.app.name", config.name
    yield "spark.master", config.master
    yield "spark.submit.deployMode", "client"
    yield "spark.sql.warehouse.dir", config.warehouse or (folder / "warehouse").as_uri()
    if machine.local:
        # Hadoop gives each file the permissions that its own mask leaves, whatever that of the process is.
        yield "spark.hadoop.fs.permissions.umask-mode", f"{process_umask():03o}"
    if config.short_lived and not config.call_sites:
        # Where each Column was made, sent to the JVM in five calls, is for the errors of running jobs.
        yield "spark.python.sql.dataFrameDebugging.enabled", "false"
    if not machine.local:
        yield "spark.jars", ",".join(jar.as_uri() for jar in (*jars, *own_jars()))
        if own_jars():
            yield "spark.plugins", SHARED_STORAGE
        storage = local_path(config.storage or "memory://")
        if "://" not in storage:
            yield SHARED_STORAGE_FOLDER, Path(storage).absolute().as_uri()


def worker_python(config: SessionConfig, machine: Machine) -> str:
    """Returns the Python that runs a pipeline's functions on the executors."""
    chosen = config.spark_conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON")
    # Another machine need not have this one's virtual environment.
    return chosen or (sys.executable if machine.loopback else "python3")
