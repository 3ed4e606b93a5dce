"""The pages about checks are current, and each line of the guides' checklists has rules and tests that exist."""

from __future__ import annotations

import re

from tools.generate_doctor_docs import (
    CHECKS_PAGE,
    GUIDES_PAGE,
    ROOT,
    SETTINGS_PAGE,
    checklists,
    render_checks,
    render_guides,
    render_settings,
    test_of,
)

from penstock.care.doctor.catalogue import rules
from penstock.care.lint.catalogue import rules as lint_rules
from penstock.care.tuning.settings import SETTINGS

find_test = test_of
del test_of  # pytest would take it for a test


def test_the_pages_are_those_of_the_catalogue_and_the_checklists() -> None:
    made = "run: python tools/generate_doctor_docs.py"
    assert CHECKS_PAGE.read_text(encoding="utf-8") == render_checks(), made
    assert SETTINGS_PAGE.read_text(encoding="utf-8") == render_settings(), made
    assert GUIDES_PAGE.read_text(encoding="utf-8") == render_guides(), made


def test_each_line_of_a_checklist_has_rules_and_each_rule_a_test_that_exists() -> None:
    lines = list(checklists())
    assert len({guide for guide, _, _ in lines}) == 4
    for _, line, names in lines:
        assert names, line
        for name in names:
            assert name in {*rules(), *lint_rules(), *SETTINGS}, (line, name)
            file, test = find_test(name)
            assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), (name, test)


def test_the_advice_on_each_setting_has_a_test_that_exists() -> None:
    for name in SETTINGS:
        file, test = find_test(name)
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), (name, test)


def test_no_cell_of_the_tables_is_empty() -> None:
    rows = [line for line in GUIDES_PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert len(rows) > 60
    for row in rows:
        assert all(cell.strip() for cell in row.strip("|").split("|")), row


def test_the_names_of_lint_and_doctor_differ() -> None:
    assert not rules().keys() & lint_rules().keys()


def test_the_words_of_a_check_are_sentences() -> None:
    for rule in rules().values():
        for text in (rule.why, rule.fix):
            assert text[0].isupper() or text.startswith("`"), rule.name
            assert text.endswith("."), rule.name
        assert rule.bad.strip(), rule.name
        assert rule.good.strip(), rule.name
        assert rule.group, rule.name


def test_the_production_checklist_names_a_check_for_each_line() -> None:
    page = (ROOT / "docs/how-to/production-checklist.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\(\.\./reference/doctor-checks\.md#([a-z-]+)\)", page))
    assert named == set(rules()), named ^ set(rules())
