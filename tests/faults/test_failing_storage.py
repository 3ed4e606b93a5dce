"""The storage fails once for each flow: all go on by themselves, and every table is right afterwards.

Six flows fail in one run, each in a call of its own; `failing_storage.py` says which, and why by Byteman.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.faults.failing_storage import PLACES, FailingFlows, Switches
from tests.faults.six_flows import KINDS


@pytest.mark.timeout(600)
def test_a_storage_that_fails_each_flow_once_is_tried_again(
    spark: SparkSession, switches: Switches, tmp_path: Path
) -> None:
    project = FailingFlows(tmp_path / "six", spark)
    project.flows.arrive(2)
    with switches.failing(PLACES) as met:
        assert project.run() == ()
        assert met() == {*KINDS}
    assert project.flows.differing() == {}
