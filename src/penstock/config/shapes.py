"""The shapes that a value of a pipeline file can have, as data: one table checks, documents and makes the JSON Schema.

`parse` of a shape gets the key and the text, and returns the value that the engine uses; it raises a
ConfigError without a location, which the reader adds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from penstock.errors import ConfigError


def as_written(key: str, text: str) -> Any:
    """Returns the text itself."""
    return text


def matching(pattern: str, expected: str, example: str) -> Callable[[str, str], str]:
    """Returns a `parse` that takes the texts which fit a regular expression as a whole."""

    def parse(key: str, text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ConfigError("CONFIG_INVALID_VALUE", key=key, value=text, expected=expected, example=example)
        return text

    return parse


@dataclass(frozen=True, slots=True)
class Text:
    """A text; a number or true/false is refused, so that nothing is lost by reading it as one."""

    parse: Callable[[str, str], Any] = as_written
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""


@dataclass(frozen=True, slots=True)
class Count:
    """A whole number from 0."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, a number or a date, as it is written."""

    parse: Callable[[str, str], Any]
    expected: str


@dataclass(frozen=True, slots=True)
class TextList:
    """A list of texts, at least one; numbers and true/false are kept as they are written."""


@dataclass(frozen=True, slots=True)
class TextMap:
    """Names and texts. Numbers and true/false are kept as they are written."""

    parse: Callable[[str, str], Any] = as_written
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class TriggerText:
    """A trigger: a name, an interval, or a mapping of one name to an interval."""


class Effect(Enum):
    """What a key of another system does here; NONE: it says nothing about what is computed."""

    NONE = "none"
    NOTICED = "ignored, with a notice"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Foreign:
    """Anything, of a key that has no meaning here; `reason` is for the notice or the error."""

    effect: Effect = Effect.NONE
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping with known keys.

    With `one_of`, exactly one of them must be there. When it is `open`, unknown keys are ignored with a notice.
    """

    keys: tuple[Key, ...]
    one_of: bool = False
    open: bool = False


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of sections."""

    item: Section


@dataclass(frozen=True, slots=True)
class MapOf:
    """Sections, or lists of texts, by name."""

    item: Section | TextList


Shape = Text | Flag | Count | Scalar | TextList | TextMap | TriggerText | Foreign | Section | ListOf | MapOf


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a section.

    `default` and `example` are YAML as a person would write it after `<name>: `; a `default` of ""
    means none. `aliases` are other spellings of the same key. A `required` key can be left out when the
    key `unless` is there.
    """

    name: str
    shape: Shape
    description: str
    example: str
    default: str = ""
    aliases: tuple[str, ...] = ()
    required: bool = False
    unless: str = ""


def expected(shape: Shape) -> str:
    """Returns what a person must write for a value of this shape."""
    match shape:
        case Text():
            return "text"
        case Flag():
            return "true or false"
        case Count():
            return "a whole number, 0 or more"
        case Scalar():
            return shape.expected
        case TextMap():
            return "a mapping of names to texts"
        case TriggerText():
            return "a trigger"
        case Foreign():
            return "anything"
        case Section():
            return "a mapping with " + (" or " if shape.one_of else ", ").join(f"'{key.name}'" for key in shape.keys)
        case TextList():
            return "a list of texts, at least one"
        case ListOf():
            return "a list"
        case MapOf():
            return "a mapping of names to settings"
