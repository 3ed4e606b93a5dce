"""Accelerators are off where they were not proven, or where somebody says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.errors import ConfigError
from penstock.spark.accelerators.accelerator import ACCELERATORS, Accelerator, choose


@pytest.fixture(autouse=True)
def _all_on_again() -> Iterator[None]:
    yield
    choose({})


def _on() -> set[str]:
    return {name for name, each in ACCELERATORS.items() if each.applies()}


def test_all_of_them_apply_to_the_locked_versions() -> None:
    choose({}, {})
    assert _on() == set(ACCELERATORS)


def test_one_is_off_when_the_settings_say_so() -> None:
    choose({"penstock.accelerators.hadoop_conf": "off", "spark.ui.enabled": "off"}, {})
    assert _on() == set(ACCELERATORS) - {"hadoop_conf"}


def test_the_environment_switches_all_of_them_off_and_the_settings_one_on() -> None:
    choose({"penstock.accelerators.hadoop_conf": "on"}, {"PENSTOCK_ACCELERATORS": "off"})
    assert _on() == {"hadoop_conf"}


def test_one_that_was_proven_with_another_version_is_off() -> None:
    assert not Accelerator("fast", "much", "a private field", {"pyspark": "4.1.0"}).applies()


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("penstock.accelerators.hadop_conf", "off", "hadoop_conf"),
        ("penstock.accelerators.hadoop_conf", "no", "on or off"),
    ],
)
def test_a_wrong_name_or_value_is_an_error(key: str, value: str, expected: str) -> None:
    with pytest.raises(ConfigError) as refused:
        choose({key: value}, {})
    assert refused.value.condition == "SPARK_SETTING_INVALID"
    assert refused.value.facts["key"] == key
    assert expected in str(refused.value.facts["expected"])


def test_each_has_a_module_of_its_name_or_says_where_it_is() -> None:
    folder = Path(__file__).parents[3] / "src/penstock/spark/accelerators"
    for name, each in ACCELERATORS.items():
        assert (folder / f"{name}.py").is_file() or re.search(r"\.(?:py|java)`", each.relies_on)
