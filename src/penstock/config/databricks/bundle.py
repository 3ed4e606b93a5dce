"""One pipeline of a Databricks asset bundle: its files put together, the target over them, references resolved."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from penstock.config.databricks.interpolation import Interpolation
from penstock.config.files.document import kind_of, pairs, place_of, read_document, scalar_text
from penstock.config.files.locate import shown_path
from penstock.errors import ConfigError, SourceLocation, did_you_mean

_USED = ("name", "catalog", "schema", "target", "libraries", "configuration", "continuous")
_MEANS_PATH = frozenset({"path", "include"})


@dataclass(frozen=True, slots=True)
class BundlePipeline:
    """A pipeline under its `key` in the bundle, as `target` has it; `settings` hold no reference any more."""

    key: str
    target: str | None
    settings: Node


@dataclass(slots=True)
class Bundle:
    """The files of a bundle, read and put together.

    `document` is the whole bundle without a target; `folders` says where each file is, by the name
    that errors use.
    """

    shown: str
    folder: Path
    document: MappingNode
    folders: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, shown: str, root: Node) -> Bundle:
        """Reads the files that `databricks.yml` at `path` includes; `root` is what that file holds.

        Raises:
            ConfigError: CONFIG_UNREADABLE, CONFIG_SYNTAX, CONFIG_WRONG_TYPE.
        """
        bundle = cls(shown, path.parent, _mapping(root, "the file"), {shown: path.parent})
        include = _get(bundle.document, "include")
        if include is None:
            return bundle
        if not isinstance(include, SequenceNode):
            raise _wrong(include, "include", "a list")
        for pattern in include.value:
            text = scalar_text(pattern)
            if text is None:
                raise _wrong(pattern, "include", "a list of texts")
            for found in sorted(glob.glob(text, root_dir=path.parent, recursive=True)):
                file = path.parent / found
                if file.samefile(path):
                    continue
                name = shown_path(file)
                bundle.folders[name] = file.parent
                content = read_document(file, name)
                if content is not None:
                    bundle.document = _merged(bundle.document, _mapping(content, "the file"))
        return bundle

    @property
    def targets(self) -> dict[str, Node]:
        """The targets by name; older bundles call them environments."""
        return _entries(_get(self.document, "targets") or _get(self.document, "environments"), "targets")

    def pipeline(self, key: str | None, target: str | None, environ: Mapping[str, str]) -> BundlePipeline:
        """Returns a pipeline: the one called `key`, else the only one; under `target`, else the default target.

        Raises:
            ConfigError: CONFIG_UNKNOWN_PIPELINE, CONFIG_PIPELINE_NEEDED, CONFIG_TARGET_NEEDED,
                CONFIG_REFERENCE_UNRESOLVED.
        """
        target = target if target is not None else self._default_target()
        document = self.document
        chosen = self.targets.get(target) if target is not None else None
        if isinstance(chosen, MappingNode):
            document = _merged(document, chosen)
        pipelines = _entries(_get(_get(document, "resources"), "pipelines"), "resources.pipelines")
        key = self._chosen(key, pipelines)
        references = Interpolation(document, target, self.folder, environ)
        entries = [
            (name, references.resolve(value) if name.value in _USED else value)
            for name, value in _mapping(pipelines[key], f"resources.pipelines.{key}").value
        ]
        settings = MappingNode("tag:yaml.org,2002:map", entries, pipelines[key].start_mark, pipelines[key].end_mark)
        self._place_libraries(settings)
        return BundlePipeline(key, target, settings)

    def _default_target(self) -> str | None:
        targets = self.targets
        default = [name for name, each in targets.items() if scalar_text(_get(each, "default") or each) == "true"]
        names = default or list(targets)
        if len(names) > 1:
            raise ConfigError("CONFIG_TARGET_NEEDED", location=SourceLocation(self.shown), targets=", ".join(targets))
        return names[0] if names else None

    def _chosen(self, key: str | None, pipelines: dict[str, Node]) -> str:
        if key is None and len(pipelines) == 1:
            return next(iter(pipelines))
        place = SourceLocation(self.shown)
        if key is None and pipelines:
            raise ConfigError("CONFIG_PIPELINE_NEEDED", location=place, pipelines=", ".join(pipelines))
        if key is None or key not in pipelines:
            known = f"Known: {', '.join(pipelines)}." if pipelines else "The bundle declares none."
            suggestion = did_you_mean(key or "", pipelines, also=known)
            raise ConfigError("CONFIG_UNKNOWN_PIPELINE", location=place, pipeline=key or "", suggestion=suggestion)
        return key

    def _place_libraries(self, settings: MappingNode) -> None:
        """Makes the paths of libraries absolute: they are relative to the file that they stand in, or to the bundle."""
        for node in _scalars(_get(settings, "libraries")):
            path = node.value
            if path.startswith("/"):
                continue
            places = (self.folders.get(place_of(node).path, self.folder), self.folder)
            found = [place for place in places if _is_there(place, path)]
            node.value = os.path.normpath((found or places)[0] / path)


def _scalars(libraries: Node | None) -> Iterator[ScalarNode]:
    for library in libraries.value if isinstance(libraries, SequenceNode) else ():
        for _, _, section in pairs(library) if isinstance(library, MappingNode) else ():
            for name, _, value in pairs(section) if isinstance(section, MappingNode) else ():
                if name in _MEANS_PATH and isinstance(value, ScalarNode) and kind_of(value) == "str":
                    yield value


def _is_there(place: Path, relative: str) -> bool:
    """Whether a file, a folder or a pattern's match is there; a notebook's path can lack the ending of its name."""
    return any(
        glob.glob(each, root_dir=place, recursive=True) for each in (glob.escape(relative), relative, f"{relative}.*")
    )


def _merged(base: MappingNode, over: MappingNode) -> MappingNode:
    """Lays one mapping over another as the Databricks CLI does: mappings by key, lists one behind the other."""
    entries = {name: (key, value) for name, key, value in pairs(base)}
    for name, key, value in pairs(over):
        below = entries[name][1] if name in entries else None
        if isinstance(below, MappingNode) and isinstance(value, MappingNode):
            entries[name] = (key, _merged(below, value))
        elif isinstance(below, SequenceNode) and isinstance(value, SequenceNode):
            both = [*below.value, *value.value]
            entries[name] = (key, SequenceNode(below.tag, both, below.start_mark, value.end_mark))
        else:
            entries[name] = (key, value)
    return MappingNode(base.tag, list(entries.values()), base.start_mark, base.end_mark)


def _get(node: Node | None, name: str) -> Node | None:
    if not isinstance(node, MappingNode):
        return None
    return next((value for key, _, value in pairs(node) if key == name), None)


def _entries(node: Node | None, name: str) -> dict[str, Node]:
    if node is None or kind_of(node) == "null":
        return {}
    return {key: value for key, _, value in pairs(_mapping(node, name))}


def _mapping(node: Node, name: str) -> MappingNode:
    if not isinstance(node, MappingNode):
        raise _wrong(node, name, "a mapping")
    return node


def _wrong(node: Node, name: str, expected: str) -> ConfigError:
    return ConfigError(
        "CONFIG_WRONG_TYPE",
        location=place_of(node),
        key=name,
        expected=expected,
        found="something else",
        example="{}" if expected == "a mapping" else "[]",
    )
