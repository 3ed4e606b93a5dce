"""`penstock deploy TARGET`: files with which other programs run the pipeline."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import Directory, Environment, Pipeline, StorageUri
from penstock.cli.project import open_project
from penstock.cli.screen.console import note, say
from penstock.errors import ConfigError

if TYPE_CHECKING:
    from penstock.deploy.deployment import DeployFile, Deployment

Output = Annotated[
    Path | None,
    typer.Option("--output", metavar="FOLDER", help="Where to write them.", show_default="in the pipeline's folder"),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there with other content.")]
Continuous = Annotated[bool, typer.Option("--continuous", help="A run that goes on, whatever the pipeline file says.")]
Every = Annotated[
    str,
    typer.Option("--every", metavar="INTERVAL", help="How often to start a pipeline that does not go on."),
]


def docker(
    directory: Directory = Path(),
    *,
    output: Output = None,
    force: Force = False,
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
) -> None:
    """Write a Dockerfile: Penstock with its Java and jars, and the pipeline; it runs without root."""
    from penstock.deploy.container import container

    deployment = _deployment(directory, environment, pipeline, storage)
    folder = _write(container(deployment), output or deployment.config.directory, force=force)
    note(f"Next:\n  docker build --tag {deployment.name} {shlex.quote(folder)}")


def kubernetes(
    directory: Directory = Path(),
    *,
    image: Annotated[
        str | None,
        typer.Option(
            "--image",
            metavar="NAME",
            help="The image that was pushed.",
            show_default="spark.kubernetes.container.image",
        ),
    ] = None,
    every: Every = "1 hour",
    continuous: Continuous = False,
    output: Output = None,
    force: Force = False,
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
) -> None:
    """Write manifests: a Deployment, or a CronJob if the pipeline does not go on, and what they need.

    With `master: k8s://https://kubernetes.default.svc` the driver starts executors in pods of their own; with a local
    master its pod does all the work.
    """
    from penstock.deploy.kubernetes import manifests

    deployment = _deployment(directory, environment, pipeline, storage, every, continuous=continuous)
    files = manifests(deployment, image)
    folder = _write(files, output or deployment.config.directory / "deploy" / "kubernetes", force=force)
    commands = [*_secret(deployment), f"kubectl apply --kustomize {shlex.quote(folder)}"]
    note("\n  ".join(["Next:", *commands]))


def systemd(
    directory: Directory = Path(),
    *,
    every: Every = "1 hour",
    continuous: Continuous = False,
    output: Output = None,
    force: Force = False,
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
) -> None:
    """Write a unit for this machine: a service, and a timer if the pipeline does not go on."""
    from penstock.deploy.systemd import units

    deployment = _deployment(directory, environment, pipeline, storage, every, continuous=continuous)
    folder = _write(units(deployment), output or deployment.config.directory / "deploy" / "systemd", force=force)
    note(f"Next: the lines at the top of {folder}/{deployment.name}.service")


def github_actions(
    directory: Directory = Path(),
    *,
    output: Output = None,
    force: Force = False,
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
) -> None:
    """Write a workflow: it validates and tests each pull request, and comments what a run would do."""
    from penstock.deploy.github_actions import workflow

    deployment = _deployment(directory, environment, pipeline, storage)
    _write(workflow(deployment), output or deployment.config.directory, force=force)
    if deployment.variables:
        note(f"Next: the repository's secrets {', '.join(deployment.variables)}")


def airflow(
    directory: Directory = Path(),
    *,
    every: Every = "1 hour",
    output: Output = None,
    force: Force = False,
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
) -> None:
    """Write a DAG of Airflow: one task that runs the pipeline, with retries where they can help."""
    from penstock.deploy.orchestrators import airflow

    deployment = _deployment(directory, environment, pipeline, storage, every)
    folder = _write(airflow(deployment), output or deployment.config.directory / "deploy" / "airflow", force=force)
    note(f"Next: copy it from {folder} into the folder of your DAGs")


def dagster(
    directory: Directory = Path(),
    *,
    every: Every = "1 hour",
    output: Output = None,
    force: Force = False,
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
) -> None:
    """Write definitions of Dagster: each table as an asset, and a schedule."""
    from penstock.deploy.orchestrators import dagster

    deployment = _deployment(directory, environment, pipeline, storage, every)
    [file] = files = dagster(deployment)
    folder = _write(files, output or deployment.config.directory / "deploy" / "dagster", force=force)
    note(f"Next:\n  dagster dev -f {shlex.quote(folder)}/{file.path}")


def _deployment(
    directory: Path,
    environment: str | None,
    pipeline: str | None,
    storage: str | None,
    every: str = "1 hour",
    *,
    continuous: bool = False,
) -> Deployment:
    from penstock.config.values.interval import parse_interval
    from penstock.deploy.deployment import Deployment

    config = open_project(directory, environment=environment, pipeline=pipeline, storage=storage)
    chosen = {"--env": environment, "--pipeline": pipeline, "--storage": storage}
    return Deployment(
        config=config.with_run_options(continuous=continuous),
        every=parse_interval(every),
        options=tuple(word for option, value in chosen.items() if value is not None for word in (option, value)),
        run_options=("--continuous",) if continuous else (),
    )


def _secret(deployment: Deployment) -> list[str]:
    """The command that makes the secret of the manifests; the values come from this shell's variables and files."""
    if not deployment.secrets:
        return []
    words = [f"kubectl create secret generic {deployment.name}"]
    for each in deployment.secrets:
        if each.source == "env":
            words.append(f'--from-literal={each.target}="${each.target}"')
        else:
            words.append(f"--from-file={shlex.quote(each.target)}")
    return [" ".join(words)]


def _write(files: Sequence[DeployFile], folder: Path, *, force: bool) -> str:
    """Writes all files or none, and returns the folder as the user would type it."""
    shown = str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)
    try:
        differing = [
            each.path
            for each in files
            if (folder / each.path).exists() and (folder / each.path).read_bytes() != each.text.encode()
        ]
        if differing and not force:
            raise ConfigError("DEPLOY_FILES_EXIST", folder=shown, files=", ".join(differing))
        for each in files:
            (folder / each.path).parent.mkdir(parents=True, exist_ok=True)
            (folder / each.path).write_bytes(each.text.encode())
    except OSError as error:
        raise ConfigError("DEPLOY_FILES_NOT_WRITABLE", folder=shown, reason=error.strerror or error) from error
    say(f"Wrote to {shown}: {', '.join(each.path for each in files)}")
    return shown
