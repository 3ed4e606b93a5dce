"""Runs a pipeline's files and collects what they declare."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.config import SecretReference, find_in_folder
from penstock.declare.code.dbutils import Dbutils
from penstock.declare.code.given_names import GraphOnlySession, MappedOpen, given_names, ignore_display
from penstock.declare.code.notebook import NotebookRunner, run_targets
from penstock.declare.code.notebook.files import is_notebook, read_source_text
from penstock.declare.code.pipeline_code import PipelineCode
from penstock.declare.code.user_errors import Translate, one_line, user_error
from penstock.declare.registry import PipelineRegistry, registration_context
from penstock.declare.user_frames import shown_path
from penstock.errors import ConfigError, DefinitionError, PipelineInvalid, SourceLocation


def load_pipeline(
    files: Sequence[Path],
    *,
    root: Path,
    spark: Any | None = None,
    configuration: Mapping[str, str] | None = None,
    default_schema: str = "default",
    display: Callable[..., object] = ignore_display,
    translate: Translate | None = None,
    paths: Mapping[str, str] | None = None,
    secrets: Mapping[str, SecretReference] | None = None,
    stand_ins: Path | None = None,
) -> PipelineRegistry:
    """Loads each file once and returns what all of them declare, errors included.

    Dataset functions are not called. The order of the files changes nothing but the order of the
    declarations. In each Python file the `given_names` and `__file__` exist, modules beside it and in `root` can be
    imported, and `dlt` and `pyspark.pipelines` mean Penstock; after the load the process imports as before. The
    functions of the datasets and flows returned bring that environment back while they run, on any thread.

    Args:
        files: Python files, SQL files and notebooks; a file that another one imports runs once, and one
            that another one runs with `%run` runs there only.
        root: The pipeline's directory; error locations are relative to it.
        spark: The SparkSession for the files; None lets them use `spark.conf` only, so that the
            graph can be read without starting Spark.
        configuration: Set on `spark.conf` before the first file runs, and left there, because
            dataset functions read it too.
        default_schema: The schema of names without one.
        display: What `display(...)` does in the files.
        paths: Where paths of another platform are here, for `open`, `dbutils.fs` and `%run`.
        secrets: What `dbutils.secrets` answers.
        stand_ins: A Python file to run first, with the same globals: it registers functions on the session.
        translate: Turns Spark's exceptions into errors; without it they are PIPELINE_FILE_FAILED.

    Returns:
        The registry. Its `errors` hold every mistake of every file; a failed file does not stop the
        others, and `incomplete` says that one failed.

    Raises:
        ConfigError: CONFIGURATION_KEY_REFUSED when Spark does not let a key be set.
        KeyboardInterrupt: From the user's code, as it is.
    """
    root = Path(os.path.abspath(root))
    files = [_below(root, file) for file in files]
    settings = dict(configuration or {})
    if spark is not None:
        _configure(spark, settings)
    session = GraphOnlySession(settings) if spark is None else spark
    mapping = dict(paths or {})
    dbutils = Dbutils(session.conf, root, mapping, dict(secrets or {}))
    given = given_names(session, dbutils, display, MappedOpen(mapping))

    def locate(path: str) -> str:
        return find_in_folder(path, root, mapping)

    first = [] if stand_ins is None else [_below(root, stand_ins)]
    code = PipelineCode([*first, *files], root, given, NotebookRunner(root, session, locate))
    included = run_targets(files, root, locate)
    registry = PipelineRegistry(root=root, default_schema=default_schema, bind=code.bind)
    token = registration_context.set(registry)
    try:
        with code.active():
            for file in first:
                _run(code, file, registry, translate)
                place = SourceLocation(shown_path(str(file), root))
                registry.add_notice(DefinitionError("STAND_INS_IN_USE", location=place, file=place))
            for file in files:
                if os.path.realpath(file) not in included:
                    _run(code, file, registry, translate)
    finally:
        registration_context.reset(token)
    registry.finish()
    return registry


def check_syntax(files: Sequence[Path], *, root: Path) -> None:
    """Compiles the Python files, notebooks not, and runs none: takes milliseconds, for who would wait for Spark first.

    Raises:
        PipelineInvalid: SYNTAX_ERROR_IN_PIPELINE_FILE, PIPELINE_FILE_UNREADABLE, of each file in which one is.
    """
    root, errors = Path(os.path.abspath(root)), []
    for file in (_below(root, each) for each in files if each.suffix == ".py"):
        try:
            text = read_source_text(file, root)
            if not is_notebook(file, text):
                with warnings.catch_warnings(action="ignore"):  # they are for the load
                    compile(text, str(file), "exec", dont_inherit=True)
        except (DefinitionError, SyntaxError, ValueError) as failure:
            errors.append(user_error(failure, file, root))
    if errors:
        raise PipelineInvalid(errors)


def _run(code: PipelineCode, file: Path, registry: PipelineRegistry, translate: Translate | None) -> None:
    try:
        code.run(file)
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # noqa: BLE001 - user code can raise anything, SystemExit too
        registry.incomplete = True
        registry.add_error(user_error(failure, file, registry.root, translate))


def _configure(spark: Any, settings: Mapping[str, str]) -> None:
    for key, value in settings.items():
        try:
            spark.conf.set(key, value)
        except Exception as error:
            raise ConfigError("CONFIGURATION_KEY_REFUSED", key=key, reason=one_line(error)) from error


def _below(root: Path, file: Path) -> Path:
    """Returns the absolute path of `file`, spelt through `root` when it lies in it."""
    path = Path(os.path.abspath(file))
    if path.is_relative_to(root):
        return path
    real, real_root = Path(os.path.realpath(path)), Path(os.path.realpath(root))
    return root / real.relative_to(real_root) if real.is_relative_to(real_root) else path
