"""A YAML file as a tree of nodes that know their lines. Nothing is constructed, so no tag can run code."""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from penstock.config.files.regular_file import read_regular_file
from penstock.errors import ConfigError, SourceLocation

_LARGEST = 1_000_000  # bytes
_MOST_ENTRIES = 30_000  # ten seconds of parsing
_DEEPEST = 200
_MOST_VALUES = 100_000
_QUOTED = re.compile(r"['\"].{4,}['\"]")
_BRACKETS = re.compile(r"[\[\]{}]")


def read_document(path: Path, shown: str) -> Node | None:
    """Returns the root node of the one YAML document in `path`, None for an empty file.

    Args:
        path: the file.
        shown: the path as the user would type it, for errors.

    Raises:
        ConfigError: CONFIG_UNREADABLE, CONFIG_TOO_LARGE, CONFIG_SYNTAX; within a second for a pipe, a device, and any
            number of bytes, keys, levels and aliases.
    """
    try:
        text = read_regular_file(path, _LARGEST).decode("utf-8-sig")
        if path.suffix == ".json":
            text = text.replace("\t", " ")  # JSON is YAML but for the tabs between its words; its texts hold none
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise _too_large(shown, str(error.strerror)) from None
        raise ConfigError("CONFIG_UNREADABLE", path=shown, reason=error.strerror or type(error).__name__) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(
            "CONFIG_UNREADABLE", location=SourceLocation(shown, line), path=shown, reason="it is not UTF-8 text"
        ) from None
    _check_size(text, shown)
    try:
        node: Node | None = YAML(typ="safe", pure=True).compose(text)
        if node is not None:
            _name_marks(node, shown, {})
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _syntax(shown, mark.line + 1 if mark else None, str(error.problem or error.context)) from None
    except RecursionError:
        raise _syntax(shown, None, "it is nested too deeply") from None
    except YAMLError as error:
        position = getattr(error, "position", 0)
        raise _syntax(
            shown, text.count("\n", 0, position) + 1, "it holds a character that YAML does not allow"
        ) from None
    return node


def _check_size(text: str, shown: str) -> None:
    """Refuses what would take the parser minutes, by counting signs."""
    entries = text.count(":") + text.count(",") + text.count("\n-") + text.count(" -")
    if entries > _MOST_ENTRIES:
        raise _too_large(shown, f"it has more than {_MOST_ENTRIES:,} entries")
    depth = 0
    for bracket in _BRACKETS.findall(text):
        depth += 1 if bracket in "[{" else -1
        if depth > _DEEPEST:
            raise _syntax(shown, None, "it is nested too deeply")


def _name_marks(node: Node, shown: str, sizes: dict[int, int | None]) -> int:
    """Lets each node remember its file: nodes of several files can be put together. Returns how many it stands for.

    A node that many aliases name is one, but whoever follows them meets it as often as they name it.
    """
    key = id(node)
    if key in sizes:
        size = sizes[key]
        if size is None:
            raise _syntax(shown, line_of(node), "an alias leads back to itself")
        return size
    sizes[key] = None
    node.start_mark.name = shown
    size = 1
    for inner in node.value if isinstance(node, (MappingNode, SequenceNode)) else ():
        for each in inner if isinstance(inner, tuple) else (inner,):
            size += _name_marks(each, shown, sizes)
    if size > _MOST_VALUES:
        raise _too_large(shown, f"its aliases stand for more than {_MOST_VALUES:,} values")
    sizes[key] = size
    return size


def line_of(node: Node) -> int:
    """Returns the line, from 1, where `node` starts."""
    line: int = node.start_mark.line
    return line + 1


def place_of(node: Node) -> SourceLocation:
    """Returns the file and the line where `node` starts."""
    return SourceLocation(str(node.start_mark.name), line_of(node))


def kind_of(node: Node) -> str:
    """Returns `str`, `int`, `float`, `bool`, `null`, `map`, `seq`, or the tag as written for anything else."""
    return str(node.tag).removeprefix("tag:yaml.org,2002:")


def describe(node: Node) -> str:
    """Returns what `node` is, for a person; never its value, which may be a secret."""
    names = {
        "str": "text",
        "int": "a number",
        "float": "a number",
        "bool": "true or false",
        "null": "nothing",
        "map": "a mapping",
        "seq": "a list",
        "timestamp": "a date",
    }
    return names.get(kind_of(node), "a value with a tag")


def scalar_text(node: Node) -> str | None:
    """Returns a text, number, date or true/false as it is written (true/false in lower case), else None."""
    if not isinstance(node, ScalarNode):
        return None
    match kind_of(node):
        case "str" | "int" | "float" | "timestamp":
            return str(node.value)
        case "bool":
            return str(node.value).lower()
        case _:
            return None


def pairs(node: MappingNode) -> list[tuple[str, Node, Node]]:
    """Returns key, key node and value node of each entry; entries merged with `<<` come last, own keys win.

    Raises:
        ConfigError: CONFIG_SYNTAX for a key that is no text, CONFIG_DUPLICATE_KEY.
    """
    return _pairs(node, ())


def _pairs(node: MappingNode, outer: tuple[int, ...]) -> list[tuple[str, Node, Node]]:
    own: dict[str, tuple[str, Node, Node]] = {}
    merged: dict[str, tuple[str, Node, Node]] = {}
    for key, value in node.value:
        if kind_of(key) == "merge":
            for source in value.value if kind_of(value) == "seq" else [value]:
                if not isinstance(source, MappingNode) or id(source) in (*outer, id(node)):
                    raise _syntax_at(key, "'<<' needs a mapping")
                for entry in _pairs(source, (*outer, id(node))):
                    merged.setdefault(entry[0], entry)
            continue
        if not isinstance(key, ScalarNode):
            raise _syntax_at(key, "a key must be a text")
        name = str(key.value)
        if name in own:
            raise ConfigError(
                "CONFIG_DUPLICATE_KEY",
                location=place_of(key),
                key=name,
                first=line_of(own[name][1]),
            )
        own[name] = (name, key, value)
    return [*own.values(), *(entry for name, entry in merged.items() if name not in own)]


def _syntax_at(node: Node, problem: str) -> ConfigError:
    return ConfigError("CONFIG_SYNTAX", location=place_of(node), problem=problem)


def _too_large(shown: str, reason: str) -> ConfigError:
    return ConfigError("CONFIG_TOO_LARGE", location=SourceLocation(shown), path=shown, reason=reason)


def _syntax(shown: str, line: int | None, problem: Any) -> ConfigError:
    """Builds the error; what the parser quotes from the file is left out, because it may be a secret."""
    said = _QUOTED.sub("'…'", str(problem)).strip().rstrip(".")
    return ConfigError("CONFIG_SYNTAX", location=SourceLocation(shown, line), problem=said)
