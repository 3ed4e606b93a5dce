"""The price file: what it says, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.care.cost.prices import Money, Prices, parse_money, parse_share, read_prices
from penstock.errors import ConfigError, PipelineInvalid

_ROOT = Path(__file__).parents[4]
_NODES = "nodes: {big: {cores: 8, hour: 0.4}, small: {cores: 2, hour: 0.1}}\n"


def _read(tmp_path: Path, text: str) -> Prices:
    file = tmp_path / "prices.yml"
    file.write_text(text)
    return read_prices(file, "prices.yml")


def _refused(tmp_path: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        _read(tmp_path, text)
    return raised.value


def test_driver_and_workers_make_the_price_of_an_hour(tmp_path: Path) -> None:
    prices = _read(
        tmp_path, f"currency: EUR\n{_NODES}cluster: {{node: big, workers: 4, driver: small, start: 3 minutes}}\n"
    )
    assert prices.currency == "EUR"
    assert prices.cluster.hour() == pytest.approx(1.7)
    assert (prices.cluster.cores, prices.cluster.start) == (32, 180)


def test_only_workers_are_spot_machines(tmp_path: Path) -> None:
    prices = _read(tmp_path, f"currency: EUR\n{_NODES}cluster: {{node: big, workers: 4, driver: small}}\n")
    assert prices.cluster.hour(0.5, 0.6) == pytest.approx(0.1 + 1.6 * 0.7)


def test_cores_and_memory_may_be_sold_singly(tmp_path: Path) -> None:
    text = "currency: USD\ncore_hour: 0.05\ngb_hour: 0.01\ncluster: {cores: 16, memory_gb: 64}\n"
    cluster = _read(tmp_path, text).cluster
    assert cluster.hour() == pytest.approx(1.44)
    assert cluster.with_cores(8, 16).hour() == pytest.approx(0.72)


def test_other_cores_are_whole_machines(tmp_path: Path) -> None:
    cluster = _read(tmp_path, f"currency: EUR\n{_NODES}cluster: {{node: big, workers: 4}}\n").cluster
    more = cluster.with_cores(33, cluster.cores)
    assert (more.workers, more.cores) == (5, 40)
    assert more.hour() == pytest.approx(2.0)


def test_a_price_for_the_whole_cluster_wins() -> None:
    prices = Prices().with_hour(parse_money("--hourly-price", "15"))
    assert (prices.cluster.hour(), prices.currency) == (15, "")
    assert Prices().with_hour(Money(15, "USD")).currency == "USD"


@pytest.mark.parametrize("name", ["aws", "azure", "gcp"])
def test_each_example_can_be_read_and_says_that_nobody_checked_it(name: str) -> None:
    file = _ROOT / "examples" / "prices" / f"{name}.yml"
    prices = read_prices(file)
    assert "\nsource: not checked; see https://" in file.read_text()
    assert prices.cluster.hour() == pytest.approx(0.96, abs=0.02)
    assert prices.cluster.cores == 16
    assert 0 < prices.storage_gb_month < 0.1


def test_an_unknown_key_has_its_line_and_what_was_meant(tmp_path: Path) -> None:
    error = _refused(tmp_path, f"currency: EUR\n{_NODES}cluster: {{node: big}}\nstorage_gb_mouth: 0.02\n")
    assert error.condition == "CONFIG_UNKNOWN_KEY"
    assert error.facts["key"] == "storage_gb_mouth"
    assert "storage_gb_month" in error.facts["suggestion"]
    assert str(error.location) == "prices.yml:4"


def test_a_price_in_another_currency_is_refused(tmp_path: Path) -> None:
    text = "currency: EUR\nnodes:\n  big: {cores: 8, hour: 0.4 USD}\ncluster: {node: big}\n"
    error = _refused(tmp_path, text)
    assert error.condition == "COST_CURRENCIES_MIXED"
    assert error.facts == {"key": "nodes.big.hour", "found": "USD", "currency": "EUR"}
    assert str(error.location) == "prices.yml:3"


def test_the_price_of_an_hour_is_in_the_currency_of_the_file(tmp_path: Path) -> None:
    prices = _read(tmp_path, "currency: EUR\ncluster: {hour: 15 EUR}\n")
    with pytest.raises(ConfigError) as raised:
        prices.with_hour(parse_money("--hourly-price", "USD 15"))
    assert raised.value.condition == "COST_CURRENCIES_MIXED"


def test_all_errors_of_a_file_come_together(tmp_path: Path) -> None:
    with pytest.raises(PipelineInvalid) as raised:
        _read(tmp_path, "currency: euros\nclustre: {hour: 15}\n")
    assert {error.condition for error in raised.value.errors} == {
        "CONFIG_INVALID_VALUE",
        "CONFIG_UNKNOWN_KEY",
        "CONFIG_MISSING_KEY",
    }


def test_a_node_that_is_not_listed(tmp_path: Path) -> None:
    error = _refused(tmp_path, f"currency: EUR\n{_NODES}cluster: {{node: bigg}}\n")
    assert (error.condition, error.facts["node"]) == ("COST_NODE_UNKNOWN", "bigg")
    assert "'big'" in error.facts["suggestion"]
    assert error.location is not None
    assert error.location.line == 3


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("currency: EUR\ncluster: {workers: 2}\n", "cluster.node"),
        ("currency: EUR\ncluster: {cores: 2}\n", "core_hour"),
        ("currency: EUR\n", "cluster"),
        ("cluster: {hour: 15}\n", "currency"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, text: str, key: str) -> None:
    error = _refused(tmp_path, text)
    assert (error.condition, error.facts["key"]) == ("CONFIG_MISSING_KEY", key)


@pytest.mark.parametrize("text", ["-1", "a lot", "1 euro", "EUR 1 EUR", "nan", "1e9999", ""])
def test_what_is_no_amount_of_money(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_money("--hourly-price", text)
    assert raised.value.condition == "CONFIG_INVALID_VALUE"


@pytest.mark.parametrize("text", ["101 %", "-0.1", "2", "half", "nan"])
def test_what_is_no_share(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_share("--spot", text)
    assert raised.value.condition == "CONFIG_INVALID_VALUE"


def test_a_share_is_a_number_or_a_percentage() -> None:
    assert parse_share("--spot", "70 %") == parse_share("--spot", "0.7") == pytest.approx(0.7)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        read_prices(tmp_path / "none.yml")
    assert raised.value.condition == "CONFIG_UNREADABLE"
