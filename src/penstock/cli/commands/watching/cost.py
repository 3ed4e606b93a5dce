"""`penstock cost`: what the pipeline costs on other schedules, from the event log and a price file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, project_command
from penstock.cli.recorded_reads import event_sight
from penstock.cli.screen.console import note, print_json, print_table, say

if TYPE_CHECKING:
    from penstock.care.cost.estimate import Estimate, WhatIf
    from penstock.care.cost.measures import Measured
    from penstock.care.cost.prices import Prices
    from penstock.config import PipelineConfig


@project_command()
def cost(
    *,
    config: Project,
    prices: Annotated[
        Path | None,
        typer.Option(
            "--prices", metavar="FILE", help="The price file.", show_default="prices.yml beside the pipeline file"
        ),
    ] = None,
    hourly_price: Annotated[
        str | None,
        typer.Option("--hourly-price", metavar="PRICE", help="What an hour of the cluster costs; wins over the file."),
    ] = None,
    freshness: Annotated[
        str | None,
        typer.Option("--freshness", metavar="INTERVAL", help="The goal: 95 % of the rows can be read within this."),
    ] = None,
    every: Annotated[
        list[str] | None,
        typer.Option("--every", metavar="INTERVAL", help="Compare AvailableNow at this interval; may be repeated."),
    ] = None,
    trigger: Annotated[
        list[str] | None,
        typer.Option("--trigger", metavar="INTERVAL", help="Compare this processing-time trigger; may be repeated."),
    ] = None,
    run_time: Annotated[
        str | None,
        typer.Option("--run-time", metavar="INTERVAL", help="What one AvailableNow run takes, if not as measured."),
    ] = None,
    cores: Annotated[
        float | None, typer.Option("--cores", metavar="N", min=0.1, max=1e6, help="What if the cluster had N cores.")
    ] = None,
    measured_cores: Annotated[
        float | None,
        typer.Option(
            "--measured-cores",
            metavar="N",
            min=0.1,
            max=1e6,
            help="The cores of the cluster that the log is of, if neither the price file nor `master` says.",
        ),
    ] = None,
    spot: Annotated[
        str, typer.Option("--spot", metavar="SHARE", help="What if this share of the workers were spot machines.")
    ] = "0 %",
    interruptions: Annotated[
        float | None,
        typer.Option(
            "--interruptions", metavar="N", min=0, max=3600, help="Interruptions of a spot machine in an hour."
        ),
    ] = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a pull request.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what the pipeline costs a day, and how fresh its tables are, on this and other schedules.

    Replays the arrivals that the event log has measured through each schedule: always on, processing-time triggers,
    AvailableNow at intervals. Reads the event log and, for the price of storage, the tables' logs.
    """
    from penstock.care.cost.estimate import WhatIf, estimate
    from penstock.care.cost.measures import configured_cores
    from penstock.care.cost.prices import parse_share
    from penstock.care.cost.report import markdown, to_json
    from penstock.care.cost.schedules import schedules
    from penstock.care.cost.stored_bytes import stored_bytes
    from penstock.config.values.interval import parse_interval

    chosen = _prices(config, prices, hourly_price)
    what_if = WhatIf(
        cores=cores,
        measured_cores=measured_cores or configured_cores(config),
        spot=parse_share("--spot", spot),
        interruptions_per_hour=interruptions,
        run_time=None if run_time is None else parse_interval(run_time),
        goal=None if freshness is None else parse_interval(freshness),
    )
    compared = schedules([parse_interval(each) for each in trigger or ()], [_every(each) for each in every or ()])
    found = estimate(
        _measured(config, what_if),
        chosen,
        compared,
        name=config.name,
        what_if=what_if,
        table_bytes=stored_bytes(config.storage) if chosen.storage_gb_month else None,
    )
    if as_json:
        print_json(to_json(found))
    elif as_markdown:
        say(markdown(found))
    else:
        _print(found)


def _prices(config: PipelineConfig, file: Path | None, hourly_price: str | None) -> Prices:
    from penstock.care.cost.prices import FILE_NAME, Prices, parse_money, price_file, read_prices

    found = Prices()
    if file is not None:
        found = read_prices(file)
    elif (own := price_file(config.directory)) is not None:
        found = read_prices(own, FILE_NAME)
    return found if hourly_price is None else found.with_hour(parse_money("--hourly-price", hourly_price))


def _measured(config: PipelineConfig, what_if: WhatIf) -> Measured:
    from penstock.care.cost.measures import assumed, measure
    from penstock.errors import ConfigError

    try:
        return measure(config.storage, name=config.name, sight=event_sight(config))
    except ConfigError as error:
        if what_if.run_time is None or error.condition != "COST_NOT_MEASURED":
            raise
        return assumed(config.name)


def _every(text: str) -> float:
    from penstock.config.values.interval import parse_interval
    from penstock.errors import ConfigError

    seconds = parse_interval(text)
    if seconds < 1:
        raise ConfigError(
            "CONFIG_INVALID_VALUE", key="--every", value=text, expected="a second or longer", example="1 hour"
        )
    return seconds


def _print(found: Estimate) -> None:
    from penstock.care.cost.report import conclusion, confidence, cost_by_table, prices_text, schedule_table

    print_table(*schedule_table(found), title=found.name)
    columns, rows = cost_by_table(found)
    if rows:
        print_table(columns, rows, title=f"Tables, {found.chosen.schedule.name}")
    for line in (prices_text(found), conclusion(found), *confidence(found)):
        note(line)
