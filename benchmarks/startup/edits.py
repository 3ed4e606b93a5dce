"""Edits a project in a dev session, as `penstock dev` sees it: prints the medians from save to validation and result.

`python -m benchmarks.startup.edits FOLDER [EDITS]`; FOLDER is a project made by `penstock init`.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

from penstock.config import load_project
from penstock.runtime.dev.project_files import ProjectFiles
from penstock.runtime.dev.session import DevSession
from penstock.runtime.project.workspace import Workspace, say_nothing

folder, edits = Path(sys.argv[1]).absolute(), int(sys.argv[2]) if len(sys.argv) > 2 else 15
os.chdir(folder)
workspace = Workspace.open(load_project(folder), say_nothing, short=True)
session, files = DevSession(workspace, lambda: load_project(folder)), ProjectFiles(folder)
assert not session.refresh(say_nothing).errors
source = folder / "transformations" / "orders.py"
text = source.read_text(encoding="utf-8")
validated, results = list[float](), list[float]()
for edit in range(edits):
    source.write_text(text.replace("amount > 0", f"amount > {20 * (edit + 1)}"), encoding="utf-8")
    saved = time.monotonic()
    while not files.changed():
        time.sleep(0.1)
    seen = time.monotonic() - saved
    outcome = session.refresh(say_nothing)
    assert [each.dataset.name for each in outcome.datasets] == ["silver_orders", "hourly_revenue", "top_products"]
    assert all(each.change is not None for each in outcome.datasets)
    validated.append(seen + outcome.validated)
    results.append(seen + outcome.seconds)
source.write_text(text, encoding="utf-8")
print("validated", " ".join(f"{each:.2f}" for each in validated), file=sys.stderr)
print("results", " ".join(f"{each:.2f}" for each in results), file=sys.stderr)
print(f"{statistics.median(validated):.3f} {statistics.median(results):.3f}")
