"""What pyproject.toml asks for is what the code imports."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.repo.documents import ROOT

_IMPORTED_AS = {"delta-spark": "delta", "prometheus-client": "prometheus_client", "ruamel.yaml": "ruamel"}
_WANTED_BY_PYSPARK = {"pandas", "protobuf"}


def test_each_dependency_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = {re.split(r"[\[<>=]", each)[0] for each in project["dependencies"]} - _WANTED_BY_PYSPARK
    code = "\n".join(path.read_text("utf-8") for path in Path(ROOT, "src", "penstock").rglob("*.py"))
    imported = set(re.findall(r"^\s*(?:from|import) (\w+)", code, re.MULTILINE))
    assert {name for name in names if _IMPORTED_AS.get(name, name.replace("-", "_")) not in imported} == set()
