"""Writes docs/reference/lint-rules.md from the catalogue of rules: python tools/generate_lint_docs.py."""

from __future__ import annotations

from pathlib import Path

from penstock.care.finding import Rule
from penstock.care.lint.catalogue import rules

TARGET = Path(__file__).parent.parent / "docs/reference/lint-rules.md"

HEAD = """\
# Lint rules

What [`penstock lint`](../how-to/lint.md) looks for. `penstock lint --explain NAME` prints the same text.

This page is made from `src/penstock/care/lint/catalogue.toml` by `python tools/generate_lint_docs.py`.
"""


def render_page() -> str:
    return "\n".join([HEAD, *(_entry(rule) for rule in rules().values())])


def _entry(rule: Rule) -> str:
    return f"""\
## {rule.name}

*{rule.severity.value.capitalize()}.* {rule.why} {rule.fix}

Found in:

```python
{rule.bad}```

Not in:

```python
{rule.good}```
"""


def main() -> None:
    TARGET.write_text(render_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
