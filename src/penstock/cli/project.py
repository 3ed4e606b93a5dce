"""Loading the pipeline file for a command, and the one thing that commands with Spark do first."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.options import Directory, DirectoryOrScript, Environment, Pipeline, Settings, StorageUri
from penstock.cli.options import settings as parse_settings

if TYPE_CHECKING:
    from penstock.config import PipelineConfig

    Project = PipelineConfig
else:
    Project = Any  # Typer evaluates it for the help, which needs no configuration


_OPTIONS: Final = {"environment": "--env", "pipeline": "--pipeline", "storage": "--storage"}
_TYPED: Final = "typed"


def project_command(
    *, scripts: bool = False, settings: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the options that name a pipeline, and the pipeline's configuration as its parameter `config`.

    On the command line DIR is in the place of `config`, and --env, --pipeline and --storage come before --json or last;
    `settings` adds --set. With `scripts` DIR may be a script's file as well. A command with the parameter `typed` gets
    the words of --env, --pipeline and --storage as well, for a command line that it writes.
    """
    options: dict[str, Any] = {"environment": Environment, "pipeline": Pipeline, "storage": StorageUri}
    if settings:
        options["set_"] = Settings

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)

        @functools.wraps(command)
        def opened(directory: Path, **given: Any) -> None:
            chosen = {name: given.pop(name) for name in options}
            if _TYPED in signature.parameters:
                words = {option: chosen[name] for name, option in _OPTIONS.items() if chosen[name] is not None}
                given[_TYPED] = tuple(word for pair in words.items() for word in pair)
            command(config=open_project(directory, **chosen, scripts=scripts), **given)

        parameters = [each for each in signature.parameters.values() if each.name != _TYPED]
        names = [each.name for each in parameters]
        end = names.index("as_json") if "as_json" in names else len(names)
        parameters[end:end] = [_parameter(name, kind, None) for name, kind in options.items()]
        parameters[names.index("config")] = _parameter("directory", DirectoryOrScript if scripts else Directory, Path())
        opened.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        opened.__annotations__ = {each.name: each.annotation for each in parameters}
        return opened

    return decorate


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def open_project(
    directory: Path,
    *,
    environment: str | None = None,
    pipeline: str | None = None,
    storage: str | None = None,
    set_: Iterable[str] | None = None,
    scripts: bool = False,
) -> PipelineConfig:
    """Reads the pipeline file of `directory`; with `scripts` that may be a script's file as well.

    From then on this process reaches object stores with its settings, and creates files for whom it says.

    Raises:
        ConfigError: the folder, the file or one of its entries is wrong.
    """
    from penstock.config import load_project, load_script
    from penstock.storage.new_files import restrict_new_files
    from penstock.storage.stores.settings import use_store_settings

    if scripts and directory.suffix == ".py":
        config = load_script(directory, environment=environment, pipeline=pipeline, storage=storage)
    else:
        config = load_project(
            directory, environment=environment, pipeline=pipeline, storage=storage, overrides=parse_settings(set_)
        )
    use_store_settings(config.resolve_spark_conf, file=config.file)
    restrict_new_files(config.shared_storage, config.storage_access)
    return config


def enter(config: PipelineConfig, *, short_lived: bool = True, writes: bool = False, data: Path | None = None) -> None:
    """Makes the project's folder the current one, and launches the JVM while Python loads its own modules.

    `data` is another folder to make the current one: that of the project on whose data this one's code is tried.
    The JVM inherits the folder, so a relative path in a pipeline (`./data/orders`) means the same wherever `penstock`
    was called from. Call it before anything of `penstock.runtime` is imported; `short_lived` as for the session.
    `writes` says that the command will take the storage's lock.

    Raises:
        StateError: STORAGE_LOCKED, if it `writes`.
    """
    from penstock.spark.session.launch import launch_ahead
    from penstock.storage import refuse_if_locked

    if writes:
        refuse_if_locked(config.storage)
    os.chdir(data or config.directory)
    launch_ahead(config, short_lived=short_lived)
