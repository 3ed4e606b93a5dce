"""`penstock tune`: settings of Spark for the measured load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.cli.options import AsJson
from penstock.cli.project import Project, project_command
from penstock.cli.screen.console import note, plural, print_json, say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.care.tuning.advice import Advice


@project_command()
def tune(*, config: Project, as_json: AsJson = False) -> None:
    """Advise on Spark settings for the load that the event log has measured. Changes nothing; no JVM.

    Shuffle partitions, the limits of a batch, memory, dynamic allocation, lost executors: each with its value now, the
    advised one, and the numbers from which it was computed. A setting about which too little was measured says what is
    missing.
    """
    from penstock.care.tuning.tuning import tune as advise
    from penstock.cli.doctor_settings import settings_of

    found = advise(config.storage, settings_of(config))
    if as_json:
        print_json(found.to_json())
        return
    for advice in found.settings:
        say("\n".join(_lines(advice)))
    note(f"Advice: {_counts(found.settings)}. Nothing was changed.")
    lines = _to_paste(found.settings)
    if lines:
        note("\n".join([f"For {config.file.path}:", "spark_conf:", *lines]))


def _lines(advice: Advice) -> list[str]:
    from penstock.care.tuning.advice import Verdict
    from penstock.care.tuning.settings import SETTINGS

    setting = SETTINGS[advice.setting]
    place = "" if advice.flow is None else f"  of {advice.flow}"
    first = f"  {advice.verdict.value:<19}  {advice.setting}{place}"
    if advice.verdict is Verdict.NOT_APPLICABLE:
        return [f"{first}: {advice.evidence}"]
    lines = [first + _values(advice), f"      {advice.evidence}"]
    if advice.verdict is not Verdict.CHANGE:
        return lines
    lines.append(f"      {setting.why}")
    if advice.commands:
        return [*lines, *(f"      Type: {command}" for command in advice.commands)]
    return [*lines, f"      Set: {advice.where}"]


def _values(advice: Advice) -> str:
    from penstock.care.tuning.advice import Verdict

    now = "not set" if advice.now is None else advice.now
    return f": {now} -> {advice.advised}" if advice.verdict is Verdict.CHANGE else f": {now}"


def _counts(found: Iterable[Advice]) -> str:
    from collections import Counter

    counted = Counter(each.verdict.value for each in found)
    changes = plural(counted.pop("change", 0), "change")
    return ", ".join([changes, *(f"{number} {verdict}" for verdict, number in counted.items())])


def _to_paste(found: Iterable[Advice]) -> list[str]:
    from penstock.care.tuning.advice import Verdict

    return [
        f'  {each.setting}: "{each.advised}"'
        for each in found
        if each.verdict is Verdict.CHANGE and each.setting.startswith("spark.") and each.flow is None
    ]
