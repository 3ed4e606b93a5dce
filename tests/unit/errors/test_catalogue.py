from __future__ import annotations

import json
import re
from importlib import resources

import pytest
from tests.unit.errors.raised_conditions import NOT_FACTS, Raised, find_raised, find_texts
from tools.generate_error_docs import TARGET, render_page

from penstock.errors import condition, conditions

NAMES = list(conditions())


def test_the_file_is_sorted_and_each_name_stands_once() -> None:
    text = (resources.files("penstock.errors") / "conditions.json").read_text(encoding="utf-8")
    names = [name for name, _ in json.loads(text, object_pairs_hook=list)]
    assert names == sorted(set(names))


@pytest.mark.parametrize("name", NAMES)
def test_each_entry_is_complete(name: str) -> None:
    entry = condition(name)
    assert re.fullmatch(r"[A-Z][A-Z0-9_]*(\.[A-Z0-9_]+)*", name)
    assert re.search(r"[.>?!]$", entry.message), "a message is a sentence, or ends with a fact"
    assert entry.fix.strip(), "a fix says what to type or edit"
    assert re.fullmatch(r"[0-9A-Z]{5}", entry.sql_state)
    assert not entry.facts & {*NOT_FACTS, "condition_name"}, "these are parameters of the error itself"
    assert "Traceback" not in entry.message + entry.fix


@pytest.mark.parametrize("raised", list(find_raised()), ids=lambda raised: raised.place)
def test_each_raised_condition_exists_and_gets_its_facts(raised: Raised) -> None:
    assert raised.condition in conditions()
    if not raised.open_ended:
        assert condition(raised.condition).facts <= raised.facts


def test_each_entry_is_used() -> None:
    assert set(NAMES) <= find_texts()


def test_the_page_of_errors_is_current() -> None:
    assert TARGET.read_text(encoding="utf-8") == render_page(), "run: python tools/generate_error_docs.py"
