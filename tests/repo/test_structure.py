"""The folders of `src` stay readable: few files at one level, none of them long."""

from pathlib import Path

import pytest

_SOURCE = Path(__file__).parents[2] / "src" / "penstock"
_MOST_ENTRIES = 16
_MOST_LINES = 400
_LAYERS = _SOURCE
"""The layers themselves lie side by side: their order is the contract `layers` in pyproject.toml."""

_PACKAGES = sorted(file.parent for file in _SOURCE.rglob("__init__.py"))


@pytest.mark.parametrize("package", [each for each in _PACKAGES if each != _LAYERS], ids=lambda each: each.name)
def test_a_folder_can_be_taken_in_at_a_glance(package: Path) -> None:
    modules = [file for file in package.glob("*.py") if file.name != "__init__.py"]
    rooms = [folder for folder in package.iterdir() if (folder / "__init__.py").is_file()]
    assert len(modules) + len(rooms) <= _MOST_ENTRIES, "divide it into rooms: CONTRIBUTING.md"


def test_no_file_is_too_long_to_be_one_concept() -> None:
    lines = {str(file.relative_to(_SOURCE)): len(file.read_text().splitlines()) for file in _SOURCE.rglob("*.py")}
    assert {name: count for name, count in lines.items() if count > _MOST_LINES} == {}
