"""The price file: what an hour of the cluster, the storage and its requests cost. No price is built in.

Its keys are a table as those of `penstock.yml` are, and so are its errors: each with its line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from penstock.config.files.document import read_document
from penstock.config.reader import Placed, Reader, Settings
from penstock.config.shapes import Key, MapOf, Scalar, Section
from penstock.config.values.interval import parse_interval
from penstock.errors import ConfigError, PipelineInvalid, SourceLocation, did_you_mean

FILE_NAME: Final = "prices.yml"
"""The price file of a pipeline that needs no `--prices`: beside its pipeline file."""

_AMOUNT: Final = re.compile(r"(?:([A-Z]{3}) ?)?(\d{1,12}(?:\.\d{1,12})?)(?: ?([A-Z]{3}))?")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True)
class Money:
    """An amount, and its currency where it is written beside it."""

    amount: float
    currency: str | None = None


@dataclass(frozen=True, slots=True)
class NodeType:
    """One kind of machine: its cores, its memory and its price an hour."""

    cores: float
    memory_gb: float
    hour: float


@dataclass(frozen=True, slots=True)
class Spot:
    """Machines that the provider may take back: how much cheaper, and how often that happens.

    `recovery` is how many seconds a batch stands still until there is another machine.
    """

    discount: float = 0.0
    interruptions_per_hour: float = 0.0
    recovery: float = 120.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """What a run is on: `fixed` is paid at the full price, `workers` of one kind may be spot machines.

    Attributes:
        fixed_hour: the price an hour of what is not a worker, such as the driver.
        worker_hour: the price an hour of one worker.
        workers: how many there are.
        cores: of all workers, 0 when the price file does not say.
        start: seconds until the machines are there, which are paid.
        whole_machines: whether workers are machines with so many cores each; else cores are bought singly.
    """

    fixed_hour: float = 0.0
    worker_hour: float = 0.0
    workers: float = 0.0
    cores: float = 0.0
    start: float = 0.0
    whole_machines: bool = False

    def hour(self, spot_share: float = 0.0, discount: float = 0.0) -> float:
        """Returns the price of an hour: fixed + workers x worker x (1 - spot share x discount)."""
        return self.fixed_hour + self.workers * self.worker_hour * (1 - spot_share * discount)

    def with_cores(self, cores: float, measured: float) -> Cluster:
        """Returns the cluster with as many workers as have `cores`, where it has `measured` now; whole machines only.

        Cores that are bought singly, and a cluster of which only the price is known, grow in proportion.
        """
        if self.whole_machines:
            of_one = self.cores / self.workers
            workers = float(math.ceil(round(cores / of_one, 6)))
            return replace(self, workers=workers, cores=workers * of_one)
        return replace(self, worker_hour=self.worker_hour * cores / measured, cores=cores)


@dataclass(frozen=True, slots=True)
class Prices:
    """A price file. Without one, an hour of the cluster counts as 1, and amounts are hours.

    Attributes:
        currency: three letters, empty when no one said; None when there are no prices.
        as_of: the date of the prices, as written.
        shown: the file as the user typed it, for people; empty without one.
        storage_gb_month: a gigabyte for a month.
        write_per_1000, read_per_1000: a thousand requests to the storage.
    """

    cluster: Cluster = field(default_factory=lambda: Cluster(worker_hour=1.0, workers=1.0))
    currency: str | None = None
    as_of: str = ""
    shown: str = ""
    spot: Spot = field(default_factory=Spot)
    storage_gb_month: float = 0.0
    write_per_1000: float = 0.0
    read_per_1000: float = 0.0

    def with_hour(self, price: Money) -> Prices:
        """Returns the prices with that of an hour of the whole cluster, whatever the file says.

        Raises:
            ConfigError: COST_CURRENCIES_MIXED.
        """
        if price.currency and self.currency and price.currency != self.currency:
            raise ConfigError(
                "COST_CURRENCIES_MIXED", key="--hourly-price", found=price.currency, currency=self.currency
            )
        cluster = replace(self.cluster, fixed_hour=0.0, worker_hour=price.amount, workers=1.0, whole_machines=False)
        return replace(self, cluster=cluster, currency=price.currency or self.currency or "")


def price_file(directory: Path) -> Path | None:
    """Returns the price file beside a pipeline file, None when there is none."""
    file = directory / FILE_NAME
    return file if file.exists() else None


def parse_money(key: str, text: str) -> Money:
    """Returns `0.192`, `0.192 USD` or `USD 0.192` as an amount.

    Raises:
        ConfigError: CONFIG_INVALID_VALUE.
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or (match.group(1) and match.group(3)):
        raise _invalid(key, text, "an amount of money, 0 or more", "0.192")
    return Money(float(match.group(2)), match.group(1) or match.group(3))


def read_prices(path: Path, shown: str | None = None) -> Prices:
    """Returns what a price file says; `shown` is the path as the user typed it.

    Raises:
        ConfigError: CONFIG_UNREADABLE, CONFIG_TOO_LARGE, CONFIG_SYNTAX; or the one thing that is wrong, with its line:
            CONFIG_UNKNOWN_KEY, CONFIG_MISSING_KEY, CONFIG_WRONG_TYPE, CONFIG_INVALID_VALUE, COST_CURRENCIES_MIXED.
        PipelineInvalid: several things are wrong.
    """
    shown = shown or str(path)
    reader = Reader(shown)
    settings = reader.read(read_document(path, shown), PRICE_FILE)
    errors = reader.errors or _mixed(settings)
    if not errors:
        try:
            return _prices(settings, shown)
        except ConfigError as error:
            errors = [error]
    ordered = sorted(errors, key=lambda error: (error.location.line or 0) if error.location else 0)
    if len(ordered) > 1:
        raise PipelineInvalid(ordered)
    raise ordered[0]


def _mixed(settings: Settings) -> list[ConfigError]:
    """Returns an error for each price that is in another currency than the file."""
    currency = settings["currency"].value
    return [
        ConfigError("COST_CURRENCIES_MIXED", location=place, key=key, found=money.currency, currency=currency)
        for key, money, place in _amounts(settings)
        if money.currency not in {None, currency}
    ]


def _amounts(settings: Mapping[str, Placed], path: str = "") -> list[tuple[str, Money, SourceLocation]]:
    found: list[tuple[str, Money, SourceLocation]] = []
    for name, placed in settings.items():
        if isinstance(placed.value, Money):
            found.append((f"{path}{name}", placed.value, placed.location))
        elif isinstance(placed.value, dict):
            found.extend(_amounts(placed.value, f"{path}{name}."))
    return found


def _prices(settings: Settings, shown: str) -> Prices:
    values = _plain(settings)
    requests, spot = values.get("requests", {}), values.get("spot", {})
    return Prices(
        cluster=_cluster(settings, values),
        currency=values["currency"],
        as_of=values.get("as_of", ""),
        shown=shown,
        spot=Spot(**spot),
        storage_gb_month=values.get("storage_gb_month", 0.0),
        write_per_1000=requests.get("write_per_1000", 0.0),
        read_per_1000=requests.get("read_per_1000", 0.0),
    )


def _cluster(settings: Settings, values: Mapping[str, Any]) -> Cluster:
    placed, cluster = settings["cluster"], values["cluster"]
    start, workers = cluster.get("start", 0.0), cluster.get("workers", 1.0)
    if "hour" in cluster:
        return Cluster(worker_hour=cluster["hour"], workers=1.0, cores=cluster.get("cores", 0.0), start=start)
    if "node" in cluster:
        node = _node(placed, "node", values)
        driver = _node(placed, "driver", values) if "driver" in cluster else NodeType(0, 0, 0.0)
        return Cluster(driver.hour, node.hour, workers, workers * node.cores, start, whole_machines=True)
    if "cores" not in cluster or "core_hour" not in values:
        missing = "core_hour" if "cores" in cluster else "cluster.node"
        example = "core_hour: 0.05" if "cores" in cluster else "node: m6i.xlarge"
        raise ConfigError("CONFIG_MISSING_KEY", location=placed.location, key=missing, example=example)
    cores = cluster["cores"]
    hour = cores * values["core_hour"] + cluster.get("memory_gb", 0.0) * values.get("gb_hour", 0.0)
    return Cluster(worker_hour=hour, workers=1.0, cores=cores, start=start)


def _node(cluster: Placed, key: str, values: Mapping[str, Any]) -> NodeType:
    placed = cluster.value[key]
    nodes = values.get("nodes", {})
    if placed.value not in nodes:
        hint = did_you_mean(placed.value, nodes) or f"There are: {', '.join(nodes) or 'none'}."
        raise ConfigError("COST_NODE_UNKNOWN", location=placed.location, node=placed.value, suggestion=hint)
    return NodeType(**{"memory_gb": 0.0, **nodes[placed.value]})


def _plain(settings: Mapping[str, Placed]) -> dict[str, Any]:
    def value_of(value: Any) -> Any:
        if isinstance(value, dict):
            return _plain(value)
        return value.amount if isinstance(value, Money) else value

    return {name: value_of(placed.value) for name, placed in settings.items()}


def _number(key: str, text: str) -> float:
    try:
        value = float(text.replace("_", ""))
    except ValueError:
        value = math.nan
    if not 0 < value < 1e9:
        raise _invalid(key, text, "a number above 0", "4")
    return value


def _share(key: str, text: str) -> float:
    percent = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?) ?%", text.strip())
    try:
        value = float(percent.group(1)) / 100 if percent else float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise _invalid(key, text, "a share from 0 to 1, or a percentage", "70 %")
    return value


def parse_share(key: str, text: str) -> float:
    """Returns `0.7` or `70 %` as a share from 0 to 1.

    Raises:
        ConfigError: CONFIG_INVALID_VALUE.
    """
    return _share(key, text)


def _rate(key: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 3600:
        raise _invalid(key, text, "a number from 0 to 3600", "0.05")
    return value


def _currency(key: str, text: str) -> str:
    if not _CURRENCY.fullmatch(text):
        raise _invalid(key, text, "the three letters of a currency (ISO 4217)", "USD")
    return text


def _text(key: str, text: str) -> str:
    return text


def _interval(key: str, text: str) -> float:
    return parse_interval(text)


def _invalid(key: str, text: str, expected: str, example: str) -> ConfigError:
    return ConfigError("CONFIG_INVALID_VALUE", key=key, value=text, expected=expected, example=example)


_MONEY: Final = Scalar(parse_money, "an amount of money")
_NUMBER: Final = Scalar(_number, "a number")
_TEXT: Final = Scalar(_text, "a text")
_LENGTH: Final = Scalar(_interval, "a length of time")

_NODE: Final = Section(
    (
        Key("cores", _NUMBER, "Its cores.", "4", required=True),
        Key("memory_gb", _NUMBER, "Its memory in GB; for people.", "16"),
        Key("hour", _MONEY, "Its price for an hour, with what the platform adds.", "0.192", required=True),
    )
)
_CLUSTER: Final = Section(
    (
        Key("node", _TEXT, "The type of the workers, one of `nodes`.", "m6i.xlarge"),
        Key("workers", _NUMBER, "How many workers.", "4", default="1"),
        Key("driver", _TEXT, "The type of the driver, if it has a machine of its own.", "m6i.xlarge"),
        Key("cores", _NUMBER, "Cores that are paid by `core_hour`, or that the cluster of `hour` has.", "16"),
        Key("memory_gb", _NUMBER, "Memory that is paid by `gb_hour`.", "64"),
        Key("hour", _MONEY, "The price of an hour of the whole cluster, in place of all others.", "15"),
        Key("start", _LENGTH, "How long it takes until the machines are there.", "4 minutes", default="0 seconds"),
    )
)
_SPOT: Final = Section(
    (
        Key("discount", Scalar(_share, "a share"), "How much cheaper a spot machine is.", "60 %"),
        Key(
            "interruptions_per_hour",
            Scalar(_rate, "a number"),
            "How often one spot machine is taken back in an hour.",
            "0.001",
        ),
        Key("recovery", _LENGTH, "How long until another one works in its place.", "3 minutes", default="2 minutes"),
    )
)
_REQUESTS: Final = Section(
    (
        Key("write_per_1000", _MONEY, "A thousand requests that write or list.", "0.005"),
        Key("read_per_1000", _MONEY, "A thousand requests that read.", "0.0004"),
    )
)
PRICE_FILE: Final = Section(
    (
        Key("currency", Scalar(_currency, "a currency"), "The currency of all prices.", "USD", required=True),
        Key("as_of", _TEXT, "The date of the prices.", "2026-01-15"),
        Key("source", _TEXT, "Where they are from.", "https://aws.amazon.com/ec2/pricing/on-demand/"),
        Key("cluster", _CLUSTER, "The cluster that the event log was recorded on.", "{…}", required=True),
        Key("nodes", MapOf(_NODE), "Types of machines by name.", "{m6i.xlarge: {cores: 4, hour: 0.192}}"),
        Key("core_hour", _MONEY, "A core for an hour, where cores are sold singly.", "0.0526"),
        Key("gb_hour", _MONEY, "A GB of memory for an hour.", "0.0058"),
        Key("spot", _SPOT, "Machines that may be taken back.", "{discount: 60 %}"),
        Key("storage_gb_month", _MONEY, "A GB of storage for a month.", "0.023"),
        Key("requests", _REQUESTS, "Requests to the storage.", "{write_per_1000: 0.005}"),
    )
)
"""Every key of a price file."""
