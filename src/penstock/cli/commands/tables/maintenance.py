"""`penstock optimize` and `penstock vacuum`: looks after tables now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, enter, project_command
from penstock.cli.screen.console import note, plural, print_json, progress_lines, say
from penstock.cli.screen.quiet_stdout import only_results_on_stdout

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.config import PipelineConfig
    from penstock.events import MaintenanceProgress
    from penstock.graph.identifier import Identifier

Tables = Annotated[
    list[str] | None, typer.Option("--table", metavar="TABLE", help="Only this table; may be given several times.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]


@project_command()
def optimize(
    *,
    config: Project,
    table: Tables = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Put the small files of tables together: OPTIMIZE, by the columns of `pipelines.autoOptimize.zOrderCols` too.

    Rows stay as they are, and so do older versions. Refused while a run works; runs do it by themselves once a day.
    """
    tables = _chosen(config, table)
    if dry_run:
        from penstock.runtime.commands.manual_maintenance import spare_files_of

        spare = spare_files_of(tables)
        if as_json:
            print_json([{"table": str(name), "files_to_spare": count} for name, count in spare.items()])
            return
        for name, count in spare.items():
            say(f"{name}: {plural(count, 'file')} to spare")
        return
    enter(config, writes=True)
    from penstock.runtime.commands.manual_maintenance import optimize_tables

    with only_results_on_stdout():
        done = optimize_tables(config, tables, progress=progress_lines())
    if as_json:
        _print_done(done, "files_added", "files_removed", "bytes_removed")
        return
    for name, each in done.items():
        became = f"{plural(each.files_removed, 'file')} became {each.files_added}"
        say(f"{name}: {became if each.files_removed else 'nothing to put together'}")


@project_command()
def vacuum(
    *,
    config: Project,
    table: Tables = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Delete files of tables that nothing needs any more: VACUUM.

    A file stays as long as a version needs it that is younger than the table's `delta.deletedFileRetentionDuration`
    (a week), or that a flow of this storage has still to read. Refused while a run works; runs do it once a day.
    """
    tables = _chosen(config, table)
    enter(config, writes=not dry_run)
    from penstock.runtime.commands.manual_maintenance import deletable_files, vacuum_tables

    with only_results_on_stdout():
        if dry_run:
            found = deletable_files(config, tables, progress=progress_lines())
        else:
            done = vacuum_tables(config, tables, progress=progress_lines())
    if dry_run:
        if as_json:
            print_json([{"table": str(n), "files": None if f is None else list(f)} for n, f in found.items()])
            return
        for name, files in found.items():
            say(f"{name}: " + (_LAGGING if files is None else f"{plural(len(files), 'file')} to delete"))
            for file in files or ():
                note(f"  {file}")
        return
    if as_json:
        _print_done(done, "files_deleted", "retention_hours", "kept_because")
        return
    for name, each in done.items():
        say(f"{name}: " + (each.kept_because or f"{plural(each.files_deleted or 0, 'file')} deleted"))


_LAGGING = "nothing is deleted, because a flow lags behind the table's log"


def _print_done(done: Mapping[Identifier, MaintenanceProgress], *keys: str) -> None:
    print_json([{"table": str(name), **{key: getattr(each, key) for key in keys}} for name, each in done.items()])


def _chosen(config: PipelineConfig, names: Iterable[str] | None) -> dict[Identifier, str]:
    """Returns the tables that are meant, all of the storage when none is named, with their places."""
    from penstock.observe.log.followed_log import read_definitions
    from penstock.observe.stored.tables import find_table, list_tables

    events = read_definitions(config.storage)
    if not names:
        return {table.identifier: table.uri for table in list_tables(config.storage, events)}
    found = [find_table(config.storage, name, default_schema=config.schema, events=events) for name in names]
    return {table.identifier: table.uri for table in found}
