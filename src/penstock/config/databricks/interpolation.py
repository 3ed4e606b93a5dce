"""The references of a bundle (`${var.schema}`, `${bundle.target}`), replaced by what they mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from penstock.config.files.document import kind_of, pairs, place_of, scalar_text
from penstock.errors import ConfigError, did_you_mean

_REFERENCE = re.compile(r"\$\{([A-Za-z_][\w-]*(?:\.[\w-]+)+)\}")
_TEXT = "tag:yaml.org,2002:str"


@dataclass(frozen=True, slots=True)
class Interpolation:
    """Resolves references against a bundle's `document`, where the `target` lies over it already.

    `folder` is the bundle's own: what a workspace calls its copy of the files is here. A variable is
    taken from `BUNDLE_VAR_<name>` in `environ` first, as the Databricks CLI does.
    """

    document: MappingNode
    target: str | None
    folder: Path
    environ: Mapping[str, str]

    def resolve(self, node: Node, trail: tuple[str, ...] = ()) -> Node:
        """Returns `node` with every reference in it replaced; `trail` are the references that led to it.

        Raises:
            ConfigError: CONFIG_REFERENCE_UNRESOLVED.
        """
        match node:
            case MappingNode():
                entries = [(key, self.resolve(value, trail)) for key, value in node.value]
                return MappingNode(node.tag, entries, node.start_mark, node.end_mark)
            case SequenceNode():
                items = [self.resolve(item, trail) for item in node.value]
                return SequenceNode(node.tag, items, node.start_mark, node.end_mark)
            case ScalarNode() if kind_of(node) == "str":
                return self._scalar(node, trail)
        return node

    def _scalar(self, node: ScalarNode, trail: tuple[str, ...]) -> Node:
        whole = _REFERENCE.fullmatch(node.value)
        if whole:
            found = self._meaning(whole.group(1), node, trail)
            if isinstance(found, ScalarNode):  # it stands where the reference stands
                return ScalarNode(found.tag, found.value, node.start_mark, node.end_mark)
            return found
        return _text(_REFERENCE.sub(lambda match: self._inner(match.group(1), node, trail), node.value), node)

    def _inner(self, name: str, node: ScalarNode, trail: tuple[str, ...]) -> str:
        text = scalar_text(self._meaning(name, node, trail))
        if text is None:
            raise _unresolved(name, node, "it is not a text")
        return text

    def _meaning(self, name: str, node: ScalarNode, trail: tuple[str, ...]) -> Node:
        if name in trail:
            raise _unresolved(name, node, "it leads back to itself")
        section, _, rest = name.partition(".")
        if section == "var":
            found = self._variable(rest, node)
        else:
            given = self._given(name)
            found = _text(given, node) if given is not None else self._entry(name, node)
        return self.resolve(found, (*trail, name))

    def _given(self, name: str) -> str | None:
        if name in {"bundle.target", "bundle.environment"}:
            return self.target
        if name in {"workspace.file_path", "workspace.root_path"}:
            return str(self.folder)
        if name.startswith("workspace.current_user."):
            return self.environ.get("USER", "user")
        return None

    def _variable(self, name: str, node: ScalarNode) -> Node:
        given = self.environ.get(f"BUNDLE_VAR_{name}")
        if given is not None:
            return _text(given, node)
        known = _children(_child(self.document, "variables"))
        if name not in known:
            raise _unresolved(f"var.{name}", node, did_you_mean(name, known, also="there is no such variable"))
        declared = known[name]
        value = declared if not isinstance(declared, MappingNode) else _child(declared, "value", "default")
        if value is None:
            raise _unresolved(f"var.{name}", node, f"it has no value; set BUNDLE_VAR_{name}")
        return value

    def _entry(self, name: str, node: ScalarNode) -> Node:
        found: Node | None = self.document
        for part in name.split("."):
            found = _child(found, part)
        if found is None:
            raise _unresolved(name, node, "the bundle does not say it, and there is no workspace to ask")
        return found


def _children(node: Node | None) -> dict[str, Node]:
    return {name: value for name, _, value in pairs(node)} if isinstance(node, MappingNode) else {}


def _child(node: Node | None, *names: str) -> Node | None:
    children = _children(node)
    return next((children[name] for name in names if name in children), None)


def _text(text: str, place: Node) -> ScalarNode:
    return ScalarNode(_TEXT, text, place.start_mark, place.end_mark)


def _unresolved(name: str, node: Node, reason: str) -> ConfigError:
    return ConfigError(
        "CONFIG_REFERENCE_UNRESOLVED", location=place_of(node), reference=name, reason=reason.rstrip(".")
    )
