"""The crash-point sweep: twelve points x six kinds of flows, each killed exactly there, and then every table is right.

A run is killed with SIGKILL while each of its flows is held at the point. The next run must end with the tables that
plain Python computes from the files. The points follow one another on one storage, for which files arrive in between;
in the end its tables must be those of a storage with the same files that nobody has disturbed, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.cli_runner import penstock
from tests.faults import holding
from tests.faults.crash_points import POINTS, CrashPoint, kill_at
from tests.faults.evidence import write_evidence
from tests.faults.six_flows import KINDS, SixFlows
from tests.faults.table import RecordProperty

pytestmark = pytest.mark.usefixtures("one_process")

_REDUCED = "before the Delta commit"
_PATIENCE = 600.0


@dataclass
class Sweep:
    """The cells of the table so far: `equal`, or how a kind's tables differ after a kill at a point."""

    cells: dict[tuple[str, str], str] = field(default_factory=dict)
    kills: int = 0
    undisturbed: dict[str, str] | None = None
    """How the storage differs in the end from one that was never killed; None before it was compared."""

    @property
    def equal(self) -> int:
        """How many cells have the right tables."""
        return sum(cell == "equal" for cell in self.cells.values())

    def lines(self) -> list[str]:
        """Returns the table to print: a line for each point, a column for each kind."""
        rows = [
            f"{point.name:<26}"
            + "".join(f"{self.cells.get((point.name, kind), '-').partition(':')[0]:>16}" for kind in KINDS)
            for point in POINTS
        ]
        total = f"{self.equal} of {len(self.cells)} equal, {self.kills} runs killed"
        return [f"{'':<26}" + "".join(f"{kind:>16}" for kind in KINDS), *rows, total]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> SixFlows:
    made = SixFlows(tmp_path_factory.mktemp("crash_points") / "six")
    pipeline = made.directory / "pipeline.py"
    pipeline.write_text(Path(holding.__file__).read_text() + pipeline.read_text())
    made.arrive()
    penstock("run", made.directory, timeout=_PATIENCE).expect(0)
    assert made.differing() == {}
    return made


@pytest.fixture(scope="module")
def sweep() -> Iterator[Sweep]:
    """The cells of this session; the evidence is written when it has all."""
    found = Sweep()
    yield found
    print("\n".join(["", *found.lines()]))
    if len(found.cells) == len(POINTS) * len(KINDS):
        cells = [{"point": point, "kind": kind, "result": result} for (point, kind), result in found.cells.items()]
        notes = {point.name: point.note for point in POINTS if point.note}
        findings = {
            "equal": found.equal,
            "cells": len(cells),
            "kills": found.kills,
            "undisturbed": found.undisturbed,
            "notes": notes,
            "results": cells,
        }
        write_evidence("crash-points", findings)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "point",
    [pytest.param(each, id=each.name, marks=() if each.name == _REDUCED else pytest.mark.slow) for each in POINTS],
)
def test_a_run_after_a_crash_ends_with_the_right_tables(
    project: SixFlows, sweep: Sweep, tmp_path: Path, point: CrashPoint, record_property: RecordProperty
) -> None:
    for number, kill in enumerate(point.kills):
        project.arrive(kill.files)
        kill_at(kill, project, tmp_path / f"signs{number}")
        sweep.kills += 1
    penstock("run", project.directory, timeout=_PATIENCE).expect(0)
    wrong = project.differing()
    for kind in point.kinds:
        sweep.cells[point.name, kind] = wrong.get(kind, "equal")
    record_property("points x kinds equal", f"{sweep.equal} of {len(sweep.cells)}")
    record_property("runs killed", sweep.kills)
    assert not wrong, "\n".join(f"{kind}: {lines}" for kind, lines in wrong.items())


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_storage_ends_as_one_that_nobody_has_disturbed(project: SixFlows, sweep: Sweep, tmp_path: Path) -> None:
    project.arrive()
    penstock("run", project.directory, timeout=_PATIENCE).expect(0)
    undisturbed = SixFlows(tmp_path / "undisturbed", files_a_batch=project.files)
    undisturbed.arrive(project.files)
    penstock("run", undisturbed.directory, timeout=_PATIENCE).expect(0)
    sweep.undisturbed = project.differing(undisturbed.tables()) | project.differing()
    assert not sweep.undisturbed
