"""Writes the pages about `penstock doctor` and `penstock tune`: python tools/generate_doctor_docs.py.

docs/reference/doctor-checks.md has each rule, docs/reference/tuned-settings.md each setting with its formula, and
docs/reference/guide-checklists.md the lines of the guides' checklists with the rules that check them and their tests.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from penstock.care.doctor.catalogue import rules
from penstock.care.doctor.checklist import CHECKS
from penstock.care.finding import Rule
from penstock.care.lint.catalogue import rules as lint_rules
from penstock.care.tuning.settings import SETTINGS, Setting

ROOT = Path(__file__).parent.parent
CHECKS_PAGE = ROOT / "docs/reference/doctor-checks.md"
SETTINGS_PAGE = ROOT / "docs/reference/tuned-settings.md"
GUIDES_PAGE = ROOT / "docs/reference/guide-checklists.md"
GUIDES = ROOT / "tools/guide_checklists.toml"

_OF_LINT: Final = ("tests/unit/care/lint/test_rules.py", "test_an_example_of_its_page_is_found_and_mended")
_OF_CHECKS: Final = ("tests/unit/care/doctor/test_checks.py", "test_what_is_wrong_fails_and_what_is_sound_passes")
_OF_SETTINGS: Final = {
    "spark.sql.shuffle.partitions": (
        "test_partitions.py",
        "test_partitions_are_the_cores_times_what_a_partition_can_hold",
    ),
    "minPartitions": (
        "test_partitions.py",
        "test_a_topic_with_fewer_partitions_than_cores_is_read_in_as_many_tasks",
    ),
    "maxOffsetsPerTrigger": ("test_limits.py", "test_the_limit_is_what_fits_into_the_trigger_interval"),
    "maxFilesPerTrigger": ("test_limits.py", "test_files_are_counted_by_their_rows"),
    "spark.driver.memory": ("test_memory.py", "test_a_full_heap_or_much_collection_needs_more"),
    "spark.executor.memory": (
        "test_memory.py",
        "test_two_versions_of_the_state_fit_into_the_part_for_user_objects",
    ),
    "spark.executor.memoryOverhead": ("test_memory.py", "test_the_overhead_has_room_for_rocksdb"),
    "spark.dynamicAllocation.enabled": (
        "test_executors.py",
        "test_a_busy_hour_and_pauses_make_dynamic_allocation_pay",
    ),
    "spark.dynamicAllocation.minExecutors": (
        "test_executors.py",
        "test_a_busy_hour_and_pauses_make_dynamic_allocation_pay",
    ),
    "spark.dynamicAllocation.maxExecutors": (
        "test_executors.py",
        "test_a_busy_hour_and_pauses_make_dynamic_allocation_pay",
    ),
    "spark.task.maxFailures": (
        "test_executors.py",
        "test_frequent_losses_of_long_batches_want_more_failures",
    ),
    "spark.decommission.enabled": (
        "test_executors.py",
        "test_rare_losses_leave_four_failures_and_want_decommissioning",
    ),
    "spark.storage.decommission.enabled": (
        "test_executors.py",
        "test_rare_losses_leave_four_failures_and_want_decommissioning",
    ),
}
"""The test of the advice on each setting, below tests/unit/care/tuning."""

_OF_CONDITIONS: Final = {
    "checkpoints-sound": ("tests/unit/observe/test_doctor.py", "test_what_verify_finds_is_found"),
    "event-log-readable": (
        "tests/unit/observe/test_doctor.py",
        "test_lines_of_the_log_that_were_skipped_are_counted_and_the_first_is_named",
    ),
    "state-bounded": (
        "tests/spark/runtime/test_unbounded_joins.py",
        "test_an_update_whose_flow_allows_it_ends_the_warning",
    ),
    "storage-encrypted": (
        "tests/unit/care/doctor/test_checks.py",
        "test_encryption_at_rest_is_seen_only_where_it_is_set",
    ),
}
"""Tests of rules that are not among the cases of all checks."""

CHECKS_HEAD = """\
# Checks of penstock doctor

What [`penstock doctor`](../how-to/production-checklist.md) checks. `penstock doctor --explain NAME` prints the same.

This page is made from `src/penstock/care/doctor/catalogue.toml` by `python tools/generate_doctor_docs.py`.
"""

SETTINGS_HEAD = """\
# Settings of penstock tune

How [`penstock tune`](../how-to/spark-settings.md) computes its advice, in the order in which it prints it. Thresholds
that no documentation has are ours. Each setting has what its sources say: stored copies of
them were read on 2026-11-26, of some only excerpts, and of some an older version. `penstock tune --json` has the same
`why`, `formula` and `source`.

This page is made from `src/penstock/care/tuning/settings.py` by `python tools/generate_doctor_docs.py`.
"""

GUIDES_HEAD = """\
# Checklists of four guides, and the rules that check them

Each line of the checklists, dos and don'ts, best practices and common mistakes of the four guides that Penstock
follows, with the rules of [`penstock lint`](lint-rules.md) (about code) and [`penstock doctor`](doctor-checks.md)
(about settings, event log, checkpoints and tables) that check it, the settings for which
[`penstock tune`](tuned-settings.md) computes a value, and the tests of them.

This page is made from `tools/guide_checklists.toml` by `python tools/generate_doctor_docs.py`.
"""


def render_checks() -> str:
    return "\n".join([CHECKS_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    group = None
    for rule in rules().values():
        if rule.group != group:
            group = rule.group
            yield f"## {str(group).capitalize()}\n"
        yield _entry(rule)


def _entry(rule: Rule) -> str:
    return f"""\
### {rule.name}

*{rule.severity.value.capitalize()}.* {rule.why} {rule.fix}

Found in:

```text
{rule.bad}```

Not in:

```text
{rule.good}```
"""


def render_settings() -> str:
    return "\n".join([SETTINGS_HEAD, *(_setting(name, setting) for name, setting in SETTINGS.items())])


def _setting(name: str, setting: Setting) -> str:
    sources = ", ".join(f"<{source}>" for source in setting.source.split(", "))
    return f"""\
## {name}

{setting.why}

- Advised: {setting.formula}
- Set as: {setting.where}
- Source: {sources}
- It says: {setting.says}
"""


def checklists() -> Iterator[tuple[str, str, list[str]]]:
    """Yields guide, line, and the names of the rules that check it."""
    for guide in tomllib.loads(GUIDES.read_text(encoding="utf-8"))["guide"]:
        for line, names in guide["lines"]:
            yield guide["name"], line, names


def test_of(rule: str) -> tuple[str, str]:
    """Returns the file and the name of the test that shows a rule, or the advice on a setting, at work."""
    if rule in _OF_SETTINGS:
        file, test = _OF_SETTINGS[rule]
        return f"tests/unit/care/tuning/{file}", test
    if rule in lint_rules():
        return _OF_LINT
    if rule in _OF_CONDITIONS:
        return _OF_CONDITIONS[rule]
    if rule not in CHECKS:
        raise KeyError(f"no test is named for the rule {rule}")
    return _OF_CHECKS


def render_guides() -> str:
    lines, last = list[str](), None
    for guide, line, names in checklists():
        if guide != last:
            lines += ["", f"## {guide}", "", "| line | rules and settings | tests |", "|---|---|---|"]
            last = guide
        tests = dict.fromkeys(map(_test_link, names))
        lines.append(f"| {line} | {', '.join(map(_rule_link, names))} | {', '.join(tests)} |")
    return GUIDES_HEAD + "\n".join(lines) + "\n"


def _rule_link(rule: str) -> str:
    if rule in SETTINGS:
        return f"[`{rule}`](tuned-settings.md#{rule.replace('.', '').lower()})"
    page = "lint-rules" if rule in lint_rules() else "doctor-checks"
    return f"[{rule}]({page}.md#{rule})"


def _test_link(rule: str) -> str:
    file, name = test_of(rule)
    return f"[{name}](../../{file})"


def main() -> None:
    CHECKS_PAGE.write_text(render_checks(), encoding="utf-8")
    SETTINGS_PAGE.write_text(render_settings(), encoding="utf-8")
    GUIDES_PAGE.write_text(render_guides(), encoding="utf-8")


if __name__ == "__main__":
    main()
