"""All commands in the order of `penstock --help`: where each is, and the first paragraph of its help.

A command's module is imported when it is called, so what `penstock --help` shows of it is here, too; a test compares
both. Why: docs/decisions/commands-imported-when-called.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from typer.core import TyperGroup

from penstock.cli.lazy_command import LazyCommand, group_of

_PANELS: Final[Mapping[str, tuple[LazyCommand | TyperGroup, ...]]] = {
    "Start": (
        LazyCommand("init", "project.init.init", "Write a small pipeline with sample data into a new folder."),
        LazyCommand(
            "setup",
            "project.setup.setup",
            "Find Java, fetch and check the jars of Spark's Delta and Kafka connectors, prepare quick starts.",
        ),
        LazyCommand(
            "stubs",
            "project.stubs.stubs",
            "Write type stubs for `import dlt`, `from pyspark import pipelines` and `spark` into DIR/typings.",
        ),
        LazyCommand(
            "lint",
            "project.lint.lint",
            "Look for mistakes in streaming code: PySpark, notebooks, pipeline files and SQL. Runs nothing, "
            "needs no Spark.",
        ),
        LazyCommand("explain", "project.explain.explain", "Explain an error by its name, or list all errors."),
        group_of(
            "deploy",
            "Write the files with which other programs run the pipeline.",
            LazyCommand(
                "docker",
                "project.deploy.docker",
                "Write a Dockerfile: Penstock with its Java and jars, and the pipeline; it runs without root.",
            ),
            LazyCommand(
                "kubernetes",
                "project.deploy.kubernetes",
                "Write manifests: a Deployment, or a CronJob unless the run is continuous, and what they need.",
            ),
            LazyCommand(
                "systemd",
                "project.deploy.systemd",
                "Write a unit for this machine: a service, and a timer unless the run is continuous.",
            ),
            LazyCommand(
                "airflow",
                "project.deploy.airflow",
                "Write a DAG of Airflow: one task that runs the pipeline, with retries where they can help.",
            ),
            LazyCommand(
                "dagster",
                "project.deploy.dagster",
                "Write definitions of Dagster: each table as an asset, and a schedule.",
            ),
            LazyCommand(
                "github-actions",
                "project.deploy.github_actions",
                "Write a workflow: it validates and tests each pull request, and comments what a run would do.",
            ),
            LazyCommand(
                "policy",
                "project.deploy.policy",
                "Write policies of the object store: for each role with a grant, the right to read the files of its "
                "tables.",
            ),
        ),
    ),
    "Run a pipeline": (
        LazyCommand(
            "dev",
            "running.dev.dev",
            "Show what each edit of the pipeline does, until q or Ctrl-C. Uses Spark; writes no table.",
        ),
        LazyCommand(
            "validate",
            "project.validate.validate",
            "Check the whole pipeline and list its tables; nothing is run and nothing is written.",
        ),
        LazyCommand(
            "plan",
            "project.plan.plan",
            "Print what `penstock run` with the same flags would do, step by step; nothing is written.",
        ),
        LazyCommand("run", "running.run.run", "Bring every table up to date, from where the last run stopped."),
        LazyCommand(
            "optimize",
            "tables.maintenance.optimize",
            "Put the small files of tables together: OPTIMIZE, by the columns of "
            "`pipelines.autoOptimize.zOrderCols` too.",
        ),
        LazyCommand(
            "vacuum", "tables.maintenance.vacuum", "Delete files of tables that nothing needs any more: VACUUM."
        ),
        LazyCommand(
            "compact",
            "tables.compact.compact",
            "Drop events of the log that are older than its retention; their totals stay.",
        ),
        LazyCommand(
            "drop", "tables.drop.drop", "Delete a table that the pipeline no longer declares, with its checkpoints."
        ),
        LazyCommand(
            "adopt",
            "tables.adopt.adopt",
            "Take over a Delta table of a plain streaming query, and how far it has read. Uses Spark; stop the "
            "query first.",
        ),
        LazyCommand(
            "script",
            "running.script.script",
            "Run a plain Structured Streaming script, its queries checked before they start and followed in the "
            "event log.",
        ),
        LazyCommand(
            "test", "project.run_tests.run_tests", "Run the project's tests, with pytest and the fixture `pipeline`."
        ),
    ),
    "Look at a pipeline (no Spark, except sql, compare, replay and state)": (
        LazyCommand(
            "status",
            "watching.status.status",
            "Show the state of the pipeline and of each dataset: rows, rates, expectations, errors.",
        ),
        LazyCommand(
            "top",
            "watching.top.top",
            "Show what each flow does now until Ctrl-C: how busy it is, its rates, what waits for it, its state.",
        ),
        LazyCommand(
            "events",
            "watching.events.events",
            "Print what happened: updates, definitions, each batch with its numbers, errors.",
        ),
        LazyCommand(
            "audit",
            "watching.audit.audit",
            "List who did what and who read which rows, when and from where; exit code 3 when that record was changed.",
        ),
        LazyCommand(
            "doctor",
            "watching.doctor.doctor",
            "Look for what is wrong with a pipeline, running or not, and go through the production checklist. No JVM.",
        ),
        LazyCommand(
            "tune",
            "watching.tune.tune",
            "Advise on Spark settings for the load that the event log has measured. Changes nothing; no JVM.",
        ),
        LazyCommand("show", "tables.show.show", "Show rows of a table, now or as of an earlier version."),
        LazyCommand("sql", "tables.sql.sql", "Query the pipeline's tables with SQL."),
        LazyCommand(
            "compare",
            "tables.compare.compare",
            "Compare the rows of a table of the pipeline with those of another table. Uses Spark.",
        ),
        LazyCommand(
            "replay",
            "checkpoints.replay_batch.replay",
            "Run one batch of a streaming flow again, and compare its rows with what it has committed.",
        ),
        LazyCommand(
            "state",
            "checkpoints.state.state",
            "Show the state of a streaming flow: open windows, ids that were seen, rows that wait for a match, "
            "variables.",
        ),
        LazyCommand(
            "watermark",
            "watching.watermark.watermark",
            "Show, for each delay of the watermark, the rows lost, the state and the wait for results, and "
            "recommend one.",
        ),
        LazyCommand(
            "cost",
            "watching.cost.cost",
            "Show what the pipeline costs a day, and how fresh its tables are, on this and other schedules.",
        ),
        LazyCommand(
            "graph", "project.graph.graph", "Draw the pipeline: sources, tables and views, and what reads what."
        ),
        LazyCommand(
            "ui",
            "running.ui.ui",
            "Serve the dashboard: problems, lineage with live numbers, flows, rows, updates, events. Ctrl-C ends it.",
        ),
        LazyCommand(
            "serve",
            "running.serve.serve",
            "Serve the tables to BI tools: read-only SQL over Hive's protocol (JDBC, ODBC, PyHive). Ctrl-C ends it.",
        ),
        group_of(
            "quarantine",
            "Look at rows that break a rule, and send them through again.",
            LazyCommand(
                "show",
                "tables.quarantine.show",
                "Show the quarantined rows of a table, the newest first, with the rules that they break.",
            ),
            LazyCommand(
                "replay",
                "tables.quarantine.replay",
                "Send the quarantined rows of a streaming table through its expectations again.",
            ),
        ),
        group_of(
            "alerts",
            "Show the current alerts, and test the destinations of the pipeline file.",
            LazyCommand(
                "check",
                "watching.alerts.check",
                "Look once at the event log for what `alerts` watches; exit code 1 when anything is wrong.",
            ),
            LazyCommand(
                "test",
                "watching.alerts.send_test",
                "Send a test message to one destination, or to each; exit code 1 when one does not take it.",
            ),
        ),
        group_of(
            "metrics",
            "Numbers for Prometheus, and what it and Grafana do with them.",
            LazyCommand(
                "show",
                "watching.metrics.show",
                "Print the metrics of the newest update, as a run serves them; reads the event log only.",
            ),
            LazyCommand(
                "rules",
                "watching.metrics.rules",
                "Print alert rules for Prometheus; put them into a file that its rule_files name.",
            ),
            LazyCommand(
                "grafana",
                "watching.metrics.grafana",
                "Print a dashboard for Grafana; import it there, and choose the data source.",
            ),
        ),
        group_of(
            "late",
            "Show rows that arrived behind the watermark, and reprocess them.",
            LazyCommand(
                "show",
                "tables.late.show",
                "Show the rows that a table's flows dropped because they came behind the watermark, the newest first.",
            ),
            LazyCommand(
                "reprocess",
                "tables.late.reprocess",
                "Compute the windows again that have late rows, with these rows, and replace them in the table.",
            ),
        ),
        group_of(
            "checkpoint",
            "Look at what flows have read; check, copy and replace it.",
            LazyCommand(
                "ls",
                "checkpoints.checkpoint.list_all",
                "List the checkpoints: how far each flow has read, and which generation the next run goes on with.",
            ),
            LazyCommand(
                "show",
                "checkpoints.checkpoint.show",
                "Show what a checkpoint says: the newest batches, up to where they read, watermark, state, and its "
                "table.",
            ),
            LazyCommand(
                "verify",
                "checkpoints.checkpoint.verify",
                "Check the checkpoints that the next run goes on with: each file, gaps, and whether they fit their "
                "tables.",
            ),
            LazyCommand(
                "backup",
                "checkpoints.checkpoint_changes.backup",
                "Copy the checkpoints that the next run goes on with, under the storage's lock, with a manifest of "
                "checksums.",
            ),
            LazyCommand(
                "restore",
                "checkpoints.checkpoint_changes.restore",
                "Put checkpoints of a backup in the place of the present ones, which are kept beside them.",
            ),
            LazyCommand(
                "rebuild",
                "checkpoints.checkpoint_changes.rebuild",
                "Make the lost checkpoint of a flow again, from the event log and the batches that its table holds.",
            ),
            LazyCommand(
                "rewind",
                "checkpoints.checkpoint_rewind.rewind",
                "Take a flow and its table back to a batch; the next run does all later ones again, from the same "
                "place.",
            ),
            LazyCommand(
                "repartition",
                "checkpoints.checkpoint_repartition.repartition",
                "Divide the state of a flow into another number of partitions, as many as can work on it at once. "
                "Uses Spark.",
            ),
            LazyCommand(
                "reset",
                "checkpoints.checkpoint_changes.reset",
                "Let a flow read its sources from the beginning, while its table keeps its rows. Asks.",
            ),
        ),
    ),
}


def root_commands() -> dict[str, LazyCommand | TyperGroup]:
    """Returns the commands and groups of `penstock` by name."""
    found: dict[str, LazyCommand | TyperGroup] = {}
    for panel, commands in _PANELS.items():
        for command in commands:
            command.rich_help_panel = panel
            found[str(command.name)] = command
    return found


def all_commands() -> dict[str, LazyCommand]:
    """Returns every command by the words that call it, as `checkpoint ls`: for the reference page and tests."""
    found: dict[str, LazyCommand] = {}
    for name, command in root_commands().items():
        if isinstance(command, LazyCommand):
            found[name] = command
        else:
            inner = (each for each in command.commands.values() if isinstance(each, LazyCommand))
            found |= {f"{name} {each.name}": each for each in inner}
    return found
