"""The advice as a whole: every setting has a line, and what is not known is said."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.care.doctor.pipelines import facts, history
from tests.unit.care.tuning.loads import YARN, activity, load, of_size

from penstock.care.tuning.advice import Verdict
from penstock.care.tuning.settings import SETTINGS
from penstock.care.tuning.tuning import advise, tuning_of


def test_each_setting_has_a_line_in_the_order_of_the_table() -> None:
    for given in (load(*of_size(100)), load(*of_size(100), settings=YARN, known=activity(1000)), facts()):
        assert list(dict.fromkeys(each.setting for each in advise(given, {}))) == list(SETTINGS)


def test_before_the_first_update_nothing_is_known() -> None:
    found = advise(facts(history=history(updates=())), {})
    assert [each.setting for each in found] == list(SETTINGS)
    assert {(each.verdict, each.evidence) for each in found} == {(Verdict.TOO_LITTLE, "No update has run yet.")}


def test_without_the_pipeline_file_nothing_applies() -> None:
    assert {each.verdict for each in advise(facts(settings=None), {})} == {Verdict.NOT_APPLICABLE}


def test_json_has_the_formula_and_its_source() -> None:
    document = tuning_of(load(*of_size(100))).to_json()
    assert {each["setting"] for each in document["settings"]} == set(SETTINGS)
    for each in document["settings"]:
        assert each["formula"].endswith(".")
        assert each["source"].startswith("https://")
        assert each["evidence"].endswith(".")


def test_a_value_that_is_no_number_is_read_as_the_default() -> None:
    conf = {"spark.sql.shuffle.partitions": "auto", "spark.executor.cores": "few", "spark.memory.fraction": "?"}
    settings = replace(YARN, conf=conf)
    given = load(*of_size(100, executors=2), settings=settings, known=activity(*[1000] * 30))
    assert {each.setting for each in advise(given, {})} == set(SETTINGS)
