"""Writes src/penstock/config/penstock.schema.json from the table of keys: python tools/generate_config_schema.py."""

from __future__ import annotations

from pathlib import Path

from penstock.config.json_schema import render_json_schema

TARGET = Path(__file__).parent.parent / "src/penstock/config/penstock.schema.json"


def main() -> None:
    TARGET.write_text(render_json_schema(), encoding="utf-8")


if __name__ == "__main__":
    main()
