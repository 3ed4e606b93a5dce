"""The one type of findings: what doctor and lint have in common."""

from __future__ import annotations

from penstock.care.doctor.catalogue import rules
from penstock.care.finding import Finding, SettingEdit, Subject
from penstock.errors import DefinitionError, ExternalError, SourceLocation, StateError

RULE = rules()["disk-space"]


def test_a_finding_that_is_a_condition_says_all_that_the_condition_does() -> None:
    error = ExternalError("DISK_SPACE_LOW", free="1 GB", share="1 %")
    document = Finding.of_error(RULE, error, where="/srv/orders", commands=("penstock vacuum",)).to_json()
    assert error.to_json().items() <= document.items()
    assert (document["rule"], document["severity"], document["why"]) == ("disk-space", "warning", RULE.why)
    assert (document["place"], document["where"], document["path"]) == ("/srv/orders",) * 3
    assert (document["evidence"], document["fix"]) == (error.message, error.fix)


def test_the_place_of_a_condition_is_its_file_or_its_table() -> None:
    declared = SourceLocation("orders.py", 3)
    in_file = Finding.of_error(RULE, DefinitionError("TABLE_NOT_READABLE", location=declared, name="a", reason="b"))
    assert (in_file.place, in_file.where) == (declared, None)
    of_table = Finding.of_error(RULE, StateError("TABLE_NOT_READABLE", dataset="shop.a", name="a", reason="b"))
    assert (str(of_table.place), of_table.where, of_table.to_json()["path"]) == ("table shop.a", None, None)


def test_a_finding_without_a_condition_has_the_words_of_its_rule_and_its_numbers() -> None:
    edit = SettingEdit(("trigger",), "1 minute")
    finding = Finding(RULE, Subject("setting", "trigger"), "too short", edit=edit, measured={"overhead_percent": 81})
    document = finding.to_json()
    assert (document["place"], document["fix"], document["fixable"]) == ("setting trigger", RULE.fix, True)
    assert document["measured"] == {"overhead_percent": 81}
    assert "condition" not in document
