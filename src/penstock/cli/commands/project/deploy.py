"""`penstock deploy TARGET`: files with which other programs run the pipeline."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.project import Project, project_command
from penstock.cli.screen.console import note, say
from penstock.errors import ConfigError

if TYPE_CHECKING:
    from penstock.config import PipelineConfig
    from penstock.deploy.deployment import DeployFile, Deployment

Typed = tuple[str, ...]
Output = Annotated[
    Path | None,
    typer.Option("--output", metavar="FOLDER", help="Where to write them.", show_default="in the pipeline's folder"),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there with other content.")]
Continuous = Annotated[bool, typer.Option("--continuous", help="Run until stopped, whatever the pipeline file says.")]
Every = Annotated[
    str,
    typer.Option("--every", metavar="INTERVAL", help="How often to start a run, unless it is continuous."),
]


@project_command()
def docker(
    *,
    config: Project,
    typed: Typed,
    output: Output = None,
    force: Force = False,
) -> None:
    """Write a Dockerfile: Penstock with its Java and jars, and the pipeline; it runs without root."""
    from penstock.deploy.container import container
    from penstock.deploy.kubernetes.objects import storage_in_container

    deployment = _deployment(config, typed)
    folder = _write(container(deployment), output or config.directory, force=force)
    commands = [f"docker build --tag {deployment.name} {shlex.quote(folder)}"]
    if (storage := storage_in_container(deployment)) is not None:
        volume = shlex.quote(f"{deployment.name}:{storage}")
        commands.append(f"docker run --rm --volume {volume} {deployment.name}")
    note("\n  ".join(["Next:", *commands]))


@project_command()
def kubernetes(
    *,
    config: Project,
    typed: Typed,
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
) -> None:
    """Write manifests: a Deployment, or a CronJob unless the run is continuous, and what they need.

    With `master: k8s://https://kubernetes.default.svc` the driver starts executors in pods of their own; with a local
    master its pod does all the work.
    """
    from penstock.deploy.kubernetes.manifests import manifests
    from penstock.deploy.kubernetes.secrets import secret_command

    deployment = _deployment(config, typed, every, continuous=continuous)
    files = manifests(deployment, image)
    folder = _write(files, output or config.directory / "deploy" / "kubernetes", force=force)
    commands = [secret_command(deployment), f"kubectl apply --kustomize {shlex.quote(folder)}"]
    note("\n  ".join(["Next:", *filter(None, commands)]))


@project_command()
def systemd(
    *,
    config: Project,
    typed: Typed,
    every: Every = "1 hour",
    continuous: Continuous = False,
    output: Output = None,
    force: Force = False,
) -> None:
    """Write a unit for this machine: a service, and a timer unless the run is continuous."""
    from penstock.deploy.systemd import units

    deployment = _deployment(config, typed, every, continuous=continuous)
    folder = _write(units(deployment), output or config.directory / "deploy" / "systemd", force=force)
    note(f"Next: the lines at the top of {folder}/{deployment.name}.service")


@project_command()
def github_actions(
    *,
    config: Project,
    typed: Typed,
    output: Output = None,
    force: Force = False,
) -> None:
    """Write a workflow: it validates and tests each pull request, and comments what a run would do."""
    from penstock.deploy.github_actions import workflow

    deployment = _deployment(config, typed)
    _write(workflow(deployment), output or config.directory, force=force)
    if deployment.variables:
        note(f"Next: the repository's secrets {', '.join(deployment.variables)}")


@project_command()
def airflow(
    *,
    config: Project,
    typed: Typed,
    every: Every = "1 hour",
    output: Output = None,
    force: Force = False,
) -> None:
    """Write a DAG of Airflow: one task that runs the pipeline, with retries where they can help."""
    from penstock.deploy.orchestrators import airflow

    deployment = _deployment(config, typed, every)
    folder = _write(airflow(deployment), output or config.directory / "deploy" / "airflow", force=force)
    note(f"Next: copy it from {folder} into the folder of your DAGs")


@project_command()
def dagster(
    *,
    config: Project,
    typed: Typed,
    every: Every = "1 hour",
    output: Output = None,
    force: Force = False,
) -> None:
    """Write definitions of Dagster: each table as an asset, and a schedule."""
    from penstock.deploy.orchestrators import dagster

    deployment = _deployment(config, typed, every)
    [file] = files = dagster(deployment)
    folder = _write(files, output or config.directory / "deploy" / "dagster", force=force)
    note(f"Next:\n  dagster dev -f {shlex.quote(folder)}/{file.path}")


@project_command()
def policy(
    *,
    config: Project,
    output: Output = None,
    force: Force = False,
) -> None:
    """Write policies of the object store: for each role with a grant, the right to read the files of its tables.

    Tables with a row filter or masks, and private ones, are left out: files show everything. Type it again after a
    change of grants, or a new table.
    """
    from penstock.access.store import access_of
    from penstock.deploy.policies import policies
    from penstock.graph.protection import is_restricted
    from penstock.observe.log.followed_log import read_definitions
    from penstock.observe.stored.tables import list_tables
    from penstock.storage.delta.table import table_properties

    access = access_of(config.storage, config.access)
    stored = list_tables(config.storage, read_definitions(config.storage))
    readable = [table for table in stored if not is_restricted(table_properties(table.uri))]
    roles = {principal for principals in access.grants.by_securable.values() for principal in principals}
    files = policies(
        config.storage,
        {role: [table.uri for table in readable if access.allows_role(role, table.identifier)] for role in roles},
    )
    if left := [str(table.identifier) for table in stored if table not in readable]:
        note(f"Left out, because files show all rows and values: {', '.join(left)}")
    if not files:
        note("There are no grants: penstock sql 'GRANT SELECT ON TABLE orders TO analysts'")
        return
    _write(files, output or config.directory / "deploy" / "policies", force=force)
    note("Next: docs/how-to/grants.md#policies-of-the-store")


def _deployment(config: PipelineConfig, typed: Typed, every: str = "1 hour", *, continuous: bool = False) -> Deployment:
    from penstock.config.values.interval import parse_interval
    from penstock.deploy.deployment import Deployment

    return Deployment(
        config=config.with_run_options(continuous=continuous),
        every=parse_interval(every),
        options=typed,
        run_options=("--continuous",) if continuous else (),
    )


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
