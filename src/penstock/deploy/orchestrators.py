"""Python files for Airflow and Dagster; both start `penstock run` as a process and judge it by its exit code."""

from __future__ import annotations

import json
from typing import Final

from penstock.deploy.deployment import NO_RETRY, DeployFile, Deployment

_RUN: Final = '''\
PENSTOCK = {penstock}  # in an environment of its own: its packages need not agree with those here
OPTIONS = {options}
RUN = [PENSTOCK, "run", *OPTIONS{trigger}]
NO_RETRY = {no_retry}  # another try would end alike
STOP_SECONDS = {stop}


def run_pipeline() -> int:
    """Runs the pipeline until it has read what is there; when this process is asked to end, so is the run."""
    process = subprocess.Popen(RUN)
    try:
        return process.wait()
    finally:
        if process.poll() is None:
            process.terminate()  # it stops after its current batch
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
'''
_AIRFLOW: Final = '''\
"""Runs the Penstock pipeline {name}. Written by `penstock deploy airflow`: put it into the folder of your DAGs."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta

from airflow.exceptions import AirflowFailException

try:
    from airflow.sdk import dag, task
except ImportError:  # Airflow 2
    from airflow.decorators import dag, task

{run}

@dag(
    dag_id="{name}",
    schedule=timedelta(seconds={every}),
    start_date=datetime(2025, 1, 1),
    catchup=False,
    max_active_runs=1,  # a second run would be refused: a storage has one at a time
    tags=["penstock"],
)
def pipeline():
    @task(retries=2, retry_delay=timedelta(minutes=1), retry_exponential_backoff=True)
    def run():
        code = run_pipeline()
        if code in NO_RETRY:
            raise AirflowFailException(f"penstock run ended with {{code}}: {{NO_RETRY[code]}}")
        if code:
            raise RuntimeError(f"penstock run ended with {{code}}")

    run()


pipeline()
'''
_DAGSTER: Final = '''\
"""The tables of the Penstock pipeline {name} as assets. Written by `penstock deploy dagster`.

To look at it: dagster dev -f {file}
"""

import json
import subprocess

import dagster as dg

{run}

def reported(command: str) -> dict:
    """Returns the JSON document of a command that reports."""
    return json.loads(subprocess.check_output([PENSTOCK, command, *OPTIONS, "--json"]))


def key(dataset: str) -> dg.AssetKey:
    return dg.AssetKey(dataset.split("."))


KINDS = {{"streaming table", "materialized view"}}
graph = reported("graph")
tables = {{node["name"]: node["kind"] for node in graph["nodes"] if node["kind"] in KINDS}}
specs = [
    dg.AssetSpec(
        key(table),
        deps=[key(edge["from"]) for edge in graph["edges"] if edge["to"] == table and edge["from"] in tables],
        kinds={{"spark", "delta"}},
        description=kind,
        group_name="{group}",
    )
    for table, kind in tables.items()
]


@dg.multi_asset(
    name="{group}",
    specs=specs,
    retry_policy=dg.RetryPolicy(max_retries=2, delay=60, backoff=dg.Backoff.EXPONENTIAL),
)
def pipeline():
    code = run_pipeline()
    if code:
        reason = f"penstock run ended with {{code}}: {{NO_RETRY.get(code, 'a flow has failed')}}"
        raise dg.Failure(reason, allow_retries=code not in NO_RETRY)
    datasets = {{each["name"]: each for each in reported("status")["datasets"]}}
    for table in tables:
        numbers = datasets.get(table, {{}})
        found = {{name: numbers.get(name) for name in ("rows", "dropped", "quarantined", "late")}}
        metadata = {{name: number for name, number in found.items() if number is not None}}
        yield dg.MaterializeResult(asset_key=key(table), metadata=metadata)


defs = dg.Definitions(
    assets=[pipeline],
    schedules=[dg.ScheduleDefinition(name="{group}_schedule", target=[pipeline], cron_schedule="{cron}")],
)
'''


def airflow(deployment: Deployment) -> list[DeployFile]:
    """Returns a DAG of one task, for Airflow 2 and 3."""
    text = _AIRFLOW.format(name=deployment.name, run=_run(deployment), every=f"{deployment.every:g}")
    return [DeployFile(f"{deployment.name}_dag.py", text)]


def dagster(deployment: Deployment) -> list[DeployFile]:
    """Returns a file of definitions: each table as an asset, and a schedule.

    Raises:
        ConfigError: CONFIG_INVALID_VALUE for an interval that cron cannot express.
    """
    group = deployment.name.replace("-", "_")
    file = f"{group}_assets.py"
    text = _DAGSTER.format(
        name=deployment.name,
        file=file,
        run=_run(deployment),
        group=group,
        cron=deployment.cron(),
    )
    return [DeployFile(file, text)]


def _run(deployment: Deployment) -> str:
    """What both files have: the command. Of a continuous pipeline, a run that reads what is there, and ends."""
    return _RUN.format(
        penstock=json.dumps(deployment.penstock),  # a text of JSON is one of Python
        no_retry="{" + ", ".join(f"{code}: {json.dumps(reason)}" for code, reason in NO_RETRY.items()) + "}",
        options=json.dumps([str(deployment.config.directory), *deployment.options]),
        trigger=', "--trigger", "available_now"' if deployment.continuous else "",
        stop=deployment.stop_seconds,
    )
