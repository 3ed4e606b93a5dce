"""Writes docs/errors.md from the condition catalogue: python tools/generate_error_docs.py."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import Condition, conditions

TARGET = Path(__file__).parent.parent / "docs/errors.md"

HEAD = """\
# Errors

Every error has a name, says what is wrong, where, and what to type or edit next. `penstock explain NAME` prints
the same text. Words in `<angle brackets>` are the facts of the error at hand; they are also in the event log.

This page is made from `src/penstock/errors/conditions.json` by `python tools/generate_error_docs.py`.
"""


def render_page() -> str:
    return "\n".join([HEAD, *(_entry(condition) for condition in conditions().values())])


def _entry(condition: Condition) -> str:
    return f"""\
## {condition.name}

```text
{condition.message}
```

Fix:

```text
{condition.fix}
```

SQLSTATE {condition.sql_state}; {condition.retry.words}.
"""


def main() -> None:
    TARGET.write_text(render_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
