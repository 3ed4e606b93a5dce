"""Looks at files and folders with every rule: what was found, and what a comment takes away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock.care.finding import Finding
from penstock.care.lint.catalogue import CHECKS, rules
from penstock.care.lint.finding import Found
from penstock.care.lint.reading import read_script
from penstock.care.lint.script import Script
from penstock.care.lint.sql.texts import texts_of
from penstock.care.places import in_cell
from penstock.errors import ConfigError, PenstockError, SourceLocation

_IGNORE: Final = re.compile(r"(?:#|--)\s*penstock:\s*ignore\[(?P<rules>[\w\s,-]+)\]")
_STREAMING: Final = re.compile(
    r"spark|stream|dlt|penstock|udf|/mnt/|\.(?:option|config|set|sql|trigger|rmtree|rm)\b|foreachBatch|withWatermark",
    re.IGNORECASE,
)
"""One of these is in every script in which a rule can find something."""
_SUFFIXES: Final = {".py", ".ipynb", ".sql"}
_FOREIGN: Final = {".venv", "venv", "node_modules", "__pycache__", "site-packages", ".git", ".penstock"}


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that is not reported: a comment in the code names its rule, or else a baseline has it."""

    finding: Finding
    by_comment: bool


@dataclass(frozen=True, slots=True)
class LintReport:
    """What was found.

    Attributes:
        files: how many were looked at.
        findings: in the order of files and lines.
        errors: files that could not be read, LINT_FILE_UNREADABLE, LINT_SYNTAX_ERROR.
        suppressed: findings that a comment or a baseline has taken away.
    """

    files: int
    findings: tuple[Finding, ...]
    errors: tuple[PenstockError, ...]
    suppressed: tuple[Suppressed, ...] = ()

    @property
    def ignored(self) -> int:
        """How many findings are not reported."""
        return len(self.suppressed)

    def to_json(self) -> dict[str, Any]:
        """Returns what `penstock lint --json` prints."""
        return {
            "files": self.files,
            "findings": [each.to_json() for each in self.findings],
            "errors": [each.to_json() for each in self.errors],
            "ignored": self.ignored,
        }


def lint(paths: Sequence[Path]) -> LintReport:
    """Looks at files, and at all scripts, notebooks and SQL files of folders; starts no Spark and runs nothing of them.

    Raises:
        ConfigError: LINT_PATH_NOT_FOUND.
    """
    files = list(_files(paths))
    findings, errors, suppressed = list[Finding](), list[PenstockError](), list[Suppressed]()
    for file in files:
        try:
            script = read_script(file)
            of_script = findings_in(script)
        except PenstockError as error:
            errors.append(error)
            continue
        except RecursionError:
            errors.append(ConfigError("LINT_FILE_UNREADABLE", path=str(file), reason="its code is nested too deeply"))
            continue
        for finding, line in of_script:
            if _is_ignored(script, line, finding.rule.name):
                suppressed.append(Suppressed(finding, by_comment=True))
            else:
                findings.append(finding)
    return LintReport(len(files), tuple(findings), tuple(errors), tuple(suppressed))


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_file():
            yield path
        elif path.is_dir():
            yield from sorted(
                file
                for file in path.rglob("*")
                if file.suffix in _SUFFIXES and not _FOREIGN & set(file.relative_to(path).parts[:-1]) and file.is_file()
            )
        else:
            raise ConfigError("LINT_PATH_NOT_FOUND", path=str(path))


def findings_in(script: Script) -> list[tuple[Finding, int]]:
    """Returns what the rules find in a script, in the order of its lines, each with its line in `script.lines`."""
    if not script.sql and not any(map(_STREAMING.search, script.lines)):
        return []
    found: list[tuple[Found, str]] = [(each, name) for name, check in CHECKS.items() for each in check(script)]
    texts = list(texts_of(script))
    if texts:
        from penstock.care.lint.sql.checks import findings_in_sql  # here: the parser takes longer to load than all else

        found += findings_in_sql(script, texts)
    found.sort(key=lambda each: (each[0].line, each[0].column))
    return [(_finding(script, each, name), each.line) for each, name in found]


def _finding(script: Script, found: Found, rule: str) -> Finding:
    text = script.lines[found.line - 1].strip()
    return Finding(rules()[rule], _place(script, found), found.evidence, text=text, edit=found.edit)


def _place(script: Script, found: Found) -> SourceLocation:
    before = script.lines[found.line - 1].encode()[: found.column - 1]
    column = len(before.decode(errors="ignore")) + 1  # in characters; Python's syntax tree counts bytes
    if script.places is None:
        return SourceLocation(script.path, found.line, column)
    cell, line = script.places[found.line - 1]
    return in_cell(script.path, cell, line, column)


def _is_ignored(script: Script, line: int, rule: str) -> bool:
    """Whether a comment in the line, or in the line above it, names the rule."""
    for text in script.lines[max(line - 2, 0) : line]:
        comment = _IGNORE.search(text)
        if comment is not None and rule in {each.strip() for each in comment["rules"].split(",")}:
            return True
    return False
