"""What a check of lint yields; what becomes of it is a `Finding` as doctor's are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.care.finding import Edit

if TYPE_CHECKING:
    from penstock.care.lint.script import Script


@dataclass(frozen=True, slots=True)
class Found:
    """What a check yields: where in the script, and what is there, in words that complete the rule's sentence."""

    line: int
    column: int
    evidence: str
    edit: Edit | None = None


Check = Callable[["Script"], Iterator[Found]]
