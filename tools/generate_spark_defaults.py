"""Writes docs/reference/spark-defaults.md: python tools/generate_spark_defaults.py [--check]."""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.spark.session.defaults import DEFAULTS, Default, Machine

TARGET = Path(__file__).resolve().parent.parent / "docs/reference/spark-defaults.md"
HEAD = """\
# What Penstock sets in Spark, and why

Your own value under `spark_conf` in `penstock.yml` always wins. `spark.sql.extensions`, `spark.driver.extraJavaOptions`
and `spark.jars` are lists: yours is added to ours. "Spark's own" means that Spark's default is left alone there.

This page is made from `src/penstock/spark/session/defaults.py` by `python tools/generate_spark_defaults.py`.

| setting | `local[2]` | cluster | reason |
|---|---|---|---|
"""


def render_page() -> str:
    return HEAD + "".join(_row(default) for default in DEFAULTS)


def _row(default: Default) -> str:
    cells = [_cell(default.value_on(Machine.of(master))) for master in ("local[2]", "yarn")]
    return f"| `{default.key}` | {cells[0]} | {cells[1]} | {default.reason} |\n"


def _cell(value: str | None) -> str:
    return "Spark's own" if value is None else "`" + value.replace("|", "\\|") + "`"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(TARGET.read_text(encoding="utf-8") != render_page())
    TARGET.write_text(render_page(), encoding="utf-8")
