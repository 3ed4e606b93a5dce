from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources

from penstock.config.json_schema import render_json_schema
from penstock.config.keys import PENSTOCK
from penstock.config.shapes import Key, ListOf, MapOf, Section, Shape


def test_the_shipped_schema_is_current() -> None:
    shipped = (resources.files("penstock.config") / "penstock.schema.json").read_text(encoding="utf-8")
    assert shipped == render_json_schema(), "run: python tools/generate_config_schema.py"


def test_it_knows_every_key_and_refuses_others() -> None:
    schema = json.loads(render_json_schema())
    assert set(schema["properties"]) == {name for key in PENSTOCK.keys for name in (key.name, *key.aliases)}
    assert schema["additionalProperties"] is False
    assert schema["anyOf"] == [{"required": ["name"]}, {"required": ["extends"]}]
    assert "required" not in schema["properties"]["environments"]["additionalProperties"]


def test_every_key_says_what_it_is_and_shows_an_example() -> None:
    for key in _keys(PENSTOCK):
        assert key.description.endswith("."), key.name
        assert key.example, key.name


def _keys(shape: Shape) -> Iterator[Key]:
    match shape:
        case Section():
            for key in shape.keys:
                yield key
                yield from _keys(key.shape)
        case ListOf() | MapOf():
            yield from _keys(shape.item)
        case _:
            return
