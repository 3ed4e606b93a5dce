"""Writes docs/reference/spark-defaults.md: python tools/generate_spark_defaults.py [--check]."""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.config.profiles import ELASTIC, SECURED, Profiled
from penstock.spark.accelerators.accelerator import ACCELERATORS, Accelerator
from penstock.spark.session.defaults import DEFAULTS, Default, Machine

TARGET = Path(__file__).resolve().parent.parent / "docs/reference/spark-defaults.md"
HEAD = """\
# What Penstock sets in Spark, and why

Your own value under `spark_conf` in `penstock.yml` always wins. `spark.sql.extensions`, `spark.plugins`,
`spark.driver.extraJavaOptions` and `spark.jars` are lists: yours is added to ours. "Spark's own" means that Spark's
default is left alone there.

This page is made from `src/penstock/spark/session/defaults.py` by `python tools/generate_spark_defaults.py`.

| setting | `local[2]` | standalone cluster | YARN, Kubernetes | reason |
|---|---|---|---|---|
"""
PROFILES = """
## Profiles

One key of `penstock.yml` chooses several settings for a cluster; a local master has none of them.

| key | setting | value | reason |
|---|---|---|---|
"""
ACCELERATED = """
## Accelerators

What is faster because it reaches into private parts of Spark, Delta, Hadoop, py4j or the JVM. Each is off with versions
for which it was not proven. To switch one off, write `"penstock.accelerators.NAME": "off"` under `spark_conf`; the
environment variable `PENSTOCK_ACCELERATORS=off` switches all of them off. Rows, checkpoints and events are the same
without them: `make test-plain` runs the tests so. `python -m benchmarks.accelerators` measures what each of them
saves, in turns with it and without it. [Java classes without a
switch](../decisions/own-java-classes.md) give what Spark has not.

| name | what is gained | what it relies on | proven with |
|---|---|---|---|
"""


def render_page() -> str:
    accelerators = "".join(_accelerator(each) for each in ACCELERATORS.values())
    profiles = "".join(
        f"| `{key}` | `{each.key}` | {_profiled(each)} | {each.reason} |\n"
        for key, profile in (("cluster.elastic", ELASTIC), ("security.cluster", SECURED))
        for each in profile
    )
    defaults = "".join(_row(default) for default in DEFAULTS)
    return HEAD + defaults + PROFILES + profiles + ACCELERATED + accelerators


def _profiled(each: Profiled) -> str:
    return _cell(each.value) if isinstance(each.value, str) else "by the trigger"


def _accelerator(each: Accelerator) -> str:
    proven = ", ".join(f"{name} {version}" for name, version in each.proven.items()) or "any"
    return f"| `{each.name}` | {each.gain} | {each.relies_on} | {proven} |\n"


def _row(default: Default) -> str:
    cells = [_cell(default.value_on(Machine.of(master))) for master in ("local[2]", "spark://host", "yarn")]
    return f"| `{default.key}` | {' | '.join(cells)} | {default.reason} |\n"


def _cell(value: str | None) -> str:
    return "Spark's own" if value is None else "`" + value.replace("|", "\\|") + "`"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(TARGET.read_text(encoding="utf-8") != render_page())
    TARGET.write_text(render_page(), encoding="utf-8")
