"""Checks the nodes of a pipeline file against the table of keys; collects every error of the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from penstock.config.files.document import describe, kind_of, pairs, place_of, scalar_text
from penstock.config.shapes import (
    Count,
    Effect,
    Flag,
    Foreign,
    Key,
    ListOf,
    MapOf,
    Scalar,
    Section,
    Shape,
    Text,
    TextList,
    TextMap,
    TriggerText,
    expected,
)
from penstock.config.values.trigger import Trigger
from penstock.errors import ConfigError, SourceLocation, did_you_mean


@dataclass(frozen=True, slots=True)
class Placed:
    """A value and its place in the file.

    The value is what the key's shape parses to; for a TextMap or a Section, a dict of Placed; for a
    ListOf, a list of Placed; for a MapOf, a dict of Placed sections.
    """

    value: Any
    location: SourceLocation


Settings = dict[str, Placed]
"""A section's values by the canonical name of their key; absent keys are absent."""


@dataclass(slots=True)
class Reader:
    """Reads one file; `shown` is its path as the user would type it, `errors` what it found wrong."""

    shown: str
    elsewhere: frozenset[str] = frozenset()
    """Keys that the user may know from the other pipeline file; for the suggestion only."""
    errors: list[ConfigError] = field(default_factory=list)
    notices: list[ConfigError] = field(default_factory=list)
    """What has no effect here, of a file that was written for another system."""

    def read(self, root: Node | None, section: Section) -> Settings:
        """Returns the settings of a whole file, without those that are wrong."""
        if root is None or kind_of(root) == "null":
            self._missing(section.keys, {}, "", SourceLocation(self.shown, 1))
            return {}
        try:
            return self._section(root, section, "")
        except ConfigError as error:
            self.errors.append(error)
            return {}

    def _section(self, node: Node, section: Section, path: str) -> Settings:
        mapping = self._mapping(node, section, path, "name: orders")
        by_name = {name: key for key in section.keys for name in (key.name, *key.aliases)}
        found: Settings = {}
        spelt: dict[str, str] = {}
        for name, name_node, value in pairs(mapping):
            inner = f"{path}.{name}" if path else name
            location = place_of(name_node)
            if section.open and name not in by_name:
                self._ignore(inner, did_you_mean(name, by_name, also="Penstock does not know it."), location)
                continue
            try:
                key = self._known(name, by_name, spelt, path)
                if isinstance(key.shape, Foreign):
                    self._foreign(key.shape, inner, location)
                    continue
                spelt[key.name] = inner
                found[key.name] = Placed(self._value(value, key.shape, inner, key), location)
            except ConfigError as error:
                error.location = error.location or location
                self.errors.append(error)
        where = place_of(node)
        self._missing(section.keys, spelt, path, where)
        if section.one_of and len(spelt) > 1:
            first, second = list(spelt.values())[:2]
            raise ConfigError("CONFIG_CONFLICTING_KEYS", location=where, first=first, second=second)
        if section.one_of and not mapping.value:
            key = section.keys[0]
            raise ConfigError(
                "CONFIG_MISSING_KEY", location=where, key=f"{path}.{key.name}", example=f"{key.name}: {key.example}"
            )
        return found

    def _foreign(self, shape: Foreign, path: str, location: SourceLocation) -> None:
        match shape.effect:
            case Effect.REFUSED:
                raise ConfigError("CONFIG_KEY_NOT_SUPPORTED", key=path, reason=shape.reason)
            case Effect.NOTICED:
                self._ignore(path, shape.reason, location)
            case Effect.NONE:
                pass
            case _:
                assert_never(shape.effect)

    def _ignore(self, path: str, reason: str, location: SourceLocation) -> None:
        self.notices.append(ConfigError("CONFIG_KEY_IGNORED", location=location, key=path, reason=reason))

    def _known(self, name: str, by_name: dict[str, Key], spelt: dict[str, str], path: str) -> Key:
        inner = f"{path}.{name}" if path else name
        key = by_name.get(name)
        if key is None:
            raise ConfigError("CONFIG_UNKNOWN_KEY", key=inner, suggestion=self._suggest(name, by_name, path))
        if key.name in spelt:
            raise ConfigError("CONFIG_CONFLICTING_KEYS", first=spelt[key.name], second=inner)
        return key

    def _value(self, node: Node, shape: Shape, path: str, key: Key) -> Any:
        empty = kind_of(node) == "null"
        match shape:
            case Text() | Flag() | Count() | Scalar():
                return self._scalar(node, shape, path, key)
            case TriggerText():
                return self._trigger(node, shape, path, key)
            case TextList():
                return self._texts(node, shape, path, key)
            case TextMap():
                return {} if empty else self._text_map(node, shape, path, key)
            case Section():
                return {} if empty and not _asks_for_keys(shape) else self._section(node, shape, path)
            case MapOf():
                return {} if empty else self._map(node, shape, path, key)
            case Foreign():
                return None
            case ListOf():
                return [] if empty else self._list(node, shape, path, key)
            case _:
                assert_never(shape)

    def _scalar(self, node: Node, shape: Text | Flag | Count | Scalar, path: str, key: Key) -> Any:
        match shape:
            case Text():
                if kind_of(node) != "str":
                    raise self._wrong(node, shape, path, f'{key.name}: "{key.example}"')
                return shape.parse(path, str(node.value))
            case Flag():
                if kind_of(node) != "bool":
                    raise self._wrong(node, shape, path, f"{key.name}: {key.example}")
                return scalar_text(node) == "true"
            case Count():
                text = scalar_text(node)
                if kind_of(node) != "int" or text is None or not text.isdecimal() or len(text) > 9:
                    raise self._wrong(node, shape, path, f"{key.name}: {key.example}")
                return int(text)
            case Scalar():
                text = scalar_text(node)
                if text is None:
                    raise self._wrong(node, shape, path, f"{key.name}: {key.example}")
                return shape.parse(path, text)
            case _:
                assert_never(shape)

    def _texts(self, node: Node, shape: TextList, path: str, key: Key) -> list[str]:
        texts = [scalar_text(item) for item in node.value] if isinstance(node, SequenceNode) else []
        known = [text for text in texts if text is not None]
        if not known or len(known) < len(texts):
            raise self._wrong(node, shape, path, f"{key.name}: {key.example}")
        return known

    def _text_map(self, node: Node, shape: TextMap, path: str, key: Key) -> Settings:
        found: Settings = {}
        for name, name_node, value in pairs(self._mapping(node, shape, path, f"{key.name}: {key.example}")):
            location = place_of(name_node)
            try:
                text = scalar_text(value)
                if text is None:
                    raise self._wrong(value, Text(), f"{path}.{name}", f'{name}: "text"')
                found[name] = Placed(shape.parse(f"{path}.{name}", text), location)
            except ConfigError as error:
                error.location = error.location or location
                self.errors.append(error)
        return found

    def _map(self, node: Node, shape: MapOf, path: str, key: Key) -> Settings:
        found: Settings = {}
        for name, name_node, value in pairs(self._mapping(node, shape, path, f"{key.name}: {key.example}")):
            found[name] = Placed({}, place_of(name_node))
            try:
                found[name] = Placed(
                    self._value(value, shape.item, f"{path}.{name}", key),
                    place_of(name_node),
                )
            except ConfigError as error:
                error.location = error.location or place_of(name_node)
                self.errors.append(error)
        return found

    def _list(self, node: Node, shape: ListOf, path: str, key: Key) -> list[Placed]:
        if not isinstance(node, SequenceNode):
            raise self._wrong(node, shape, path, f"{key.name}: {key.example}")
        found: list[Placed] = []
        for position, item in enumerate(node.value):
            try:
                section = self._section(item, shape.item, f"{path}[{position}]")
                found.append(Placed(section, place_of(item)))
            except ConfigError as error:
                error.location = error.location or place_of(item)
                self.errors.append(error)
        return found

    def _trigger(self, node: Node, shape: TriggerText, path: str, key: Key) -> Trigger:
        if kind_of(node) == "str":
            return Trigger.parse(str(node.value))
        mapping = self._mapping(node, shape, path, f"{key.name}: {key.example}")
        found: dict[str, str] = {}
        for name, _, value in pairs(mapping):
            if kind_of(value) != "str":
                raise self._wrong(value, Text(), f"{path}.{name}", f"{name}: 10 seconds")
            found[name] = str(value.value)
        return Trigger.parse(found)

    def _mapping(self, node: Node, shape: Shape, path: str, example: str) -> MappingNode:
        if not isinstance(node, MappingNode):
            raise self._wrong(node, shape, path or "the file", example)
        return node

    def _wrong(self, node: Node, shape: Shape, path: str, example: str) -> ConfigError:
        # A value that is not there has no line of its own: the key's line is filled in.
        return ConfigError(
            "CONFIG_WRONG_TYPE",
            location=None if kind_of(node) == "null" else place_of(node),
            key=path,
            expected=expected(shape),
            found=describe(node),
            example=example,
        )

    def _missing(self, keys: Sequence[Key], found: dict[str, str], path: str, where: SourceLocation) -> None:
        for key in keys:
            if key.required and key.name not in found and key.unless not in found:
                inner = f"{path}.{key.name}" if path else key.name
                example = f"{key.name}: {key.example}"
                self.errors.append(ConfigError("CONFIG_MISSING_KEY", location=where, key=inner, example=example))

    def _suggest(self, name: str, known: dict[str, Key], path: str) -> str:
        if not path and name in self.elsewhere:
            return f"'{name}' belongs in penstock.yml; rename this file to use it."
        return did_you_mean(name, known, also=f"Known here: {', '.join(known)}.")


def _asks_for_keys(section: Section) -> bool:
    return section.one_of or any(key.required for key in section.keys)


def overlay(base: Settings, over: Settings) -> Settings:
    """Returns `base` with the entries of `over`; mappings are merged by key, lists are replaced."""
    merged = dict(base)
    for name, placed in over.items():
        below = base.get(name)
        if below is not None and isinstance(below.value, dict) and isinstance(placed.value, dict):
            merged[name] = Placed({**below.value, **placed.value}, placed.location)
        else:
            merged[name] = placed
    return merged
