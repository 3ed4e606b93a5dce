"""The session that a script gets from `SparkSession.builder…getOrCreate()`: Penstock's, with the script's settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.conf import RuntimeConfig

from penstock.config import PipelineConfig
from penstock.errors import DefinitionError, PenstockError, SourceLocation
from penstock.runtime.script.tables import DEFAULT_SCHEMA
from penstock.spark.reading.method_hooks import hooked
from penstock.spark.session.launch import SessionConfig
from penstock.spark.session.object_store_jars import object_store_jar_sets
from penstock.spark.session.session import start_session
from penstock.spark.sources.stream_read import NAMED_SOURCES
from penstock.storage import StorageLayout
from penstock.storage.stores.settings import use_store_settings

LIKE_SPARK = {
    # A script's sources have no names, and its checkpoints must be those that Spark alone would make and go on with.
    NAMED_SOURCES: "false",
    "spark.sql.streaming.offsetLog.formatVersion": "1",
}
"""The settings in which a script's session differs from a pipeline's."""

_PACKAGES = "spark.jars.packages"
_HAVE = re.compile(r"(io\.delta:delta-|org\.apache\.spark:spark-(sql|streaming)-kafka)")
_STRUCTURE = frozenset({"spark.app.name", "spark.master"})
_TOO_LATE = (
    "the session runs already",
    "Set it before the session starts: in the first SparkSession.builder.config(…), or in spark_conf of a penstock.yml",
)
_NOT_FETCHED = (
    "Penstock fetches only jars of its own lock",
    "Name jar files that you have: .config('spark.jars', '/path/to/x.jar')",
)
_FIXED = ("CANNOT_MODIFY_CONFIG", "CANNOT_MODIFY_STATIC_CONFIG", "CANNOT_MODIFY_STARTUP_CONFIG")


class ScriptSession:
    """Starts the session when the script `file` first asks for one; `get` answers each time.

    A session that is there already, `spark`, is taken as it is. `on_start` is called once, with the session.
    """

    def __init__(
        self,
        config: PipelineConfig,
        file: Path,
        *,
        notice: Callable[[PenstockError], None],
        locate: Callable[[], SourceLocation],
        on_start: Callable[[SparkSession], None],
        progress: Callable[[str], None],
        spark: SparkSession | None = None,
    ) -> None:
        self._config = config
        self._file = file
        self._notice = notice
        self._locate = locate
        self._on_start = on_start
        self._progress = progress
        self._given = spark
        self._starting = False
        self.spark: SparkSession | None = None

    def get(self, chosen: Mapping[str, str]) -> SparkSession:
        """Returns the session; `chosen` are the settings of the script's builder.

        Raises:
            ConfigError, ExternalError: what keeps Spark from starting.
        """
        if self.spark is None:
            self._start(chosen)
        else:
            self._apply(self.spark, chosen)
        assert self.spark is not None
        return self.spark

    @contextmanager
    def hooked(self, stop_queries: Callable[[], None]) -> Iterator[None]:
        """Serves the script's builder inside the block; `stop_queries` is what `spark.stop()` does."""
        with (
            hooked(SparkSession.Builder, "getOrCreate", self._builder),
            hooked(SparkContext, "getOrCreate", self._context),
            hooked(SparkContext, "__init__", self._own_context),
            hooked(RuntimeConfig, "set", self._set),
            # The session ends with the script: until then the last batches have something to report.
            hooked(SparkSession, "stop", lambda _original, _spark: stop_queries()),
        ):
            yield

    def _start(self, chosen: Mapping[str, str]) -> None:
        if self._given is not None:
            self.spark = self._given
            self._apply(self._given, chosen)
        else:
            self._starting = True
            try:
                self.spark = start_session(self._wanted(chosen), progress=self._progress)
            finally:
                self._starting = False
        self._on_start(self.spark)

    def _wanted(self, chosen: Mapping[str, str]) -> SessionConfig:
        config, of_builder = self._config, self._settings(chosen)

        def settings() -> dict[str, str]:
            return {**LIKE_SPARK, **config.resolve_spark_conf(), **of_builder}

        use_store_settings(settings, file=config.file)
        spark_conf = settings()
        return SessionConfig(
            name=chosen.get("spark.app.name", config.name),
            master=chosen.get("spark.master", config.master),
            spark_conf=spark_conf,
            python_roots=(config.directory,),
            storage=config.storage,
            jar_sets=object_store_jar_sets(config, spark_conf, script=self._file),
            cluster_timeout=config.cluster_timeout,
            file=config.file,
            warehouse=f"{StorageLayout(config.storage).uri}/tables/{DEFAULT_SCHEMA}",
        )

    def _settings(self, chosen: Mapping[str, str]) -> dict[str, str]:
        """What of the builder's settings is for the session; packages are reported, as Penstock fetches none."""
        settings = {key: str(value) for key, value in chosen.items() if key not in _STRUCTURE}
        packages = settings.pop(_PACKAGES, "")
        missing = [each for each in packages.split(",") if each.strip() and not _HAVE.match(each.strip())]
        if missing:
            self._without_effect(_PACKAGES, ",".join(missing), *_NOT_FETCHED)
        return settings

    def _apply(self, spark: SparkSession, chosen: Mapping[str, str]) -> None:
        for key, value in self._settings(chosen).items():
            spark.conf.set(key, value)  # which is hooked
        master = chosen.get("spark.master", spark.sparkContext.master)
        if master != spark.sparkContext.master:
            self._without_effect("spark.master", master, *_TOO_LATE)

    def _builder(self, original: Any, builder: Any) -> SparkSession:
        if self._starting:  # Penstock's own call
            session: SparkSession = original(builder)
            return session
        return self.get(dict(builder._options))  # noqa: SLF001 - the only place where they are

    def _context(self, original: Any, conf: SparkConf | None = None) -> SparkContext:
        """`SparkContext.getOrCreate`, with which older scripts begin."""
        if self._starting:
            context: SparkContext = original(conf)
            return context
        if self.spark is None:
            self.get({} if conf is None else dict(conf.getAll()))
        return self.get({}).sparkContext

    def _own_context(self, original: Any, context: SparkContext, *arguments: Any, **named: Any) -> None:
        """`SparkContext(…)`: an object of the script's own cannot become the session's."""
        if not self._starting:
            raise DefinitionError("SPARK_CONTEXT_OF_SCRIPT")
        original(context, *arguments, **named)

    def _set(self, original: Any, conf: RuntimeConfig, key: str, value: Any) -> None:
        """`spark.conf.set`: what Spark takes only at its start is reported, and the script goes on."""
        try:
            original(conf, key, value)
        except PySparkException as refused:
            if not str(refused.getCondition()).startswith(_FIXED):
                raise
            if str(conf.get(key, "")) != str(value):
                self._without_effect(key, value, *_TOO_LATE)

    def _without_effect(self, key: str, value: object, reason: str, instead: str) -> None:
        notice = DefinitionError(
            "SETTING_WITHOUT_EFFECT",
            location=self._locate(),
            key=key,
            value=value,
            reason=reason,
            instead=instead,
        )
        self._notice(notice)
