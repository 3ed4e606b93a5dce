"""Deployments of pipeline files that the tests write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.config import load_project
from penstock.deploy.deployment import Deployment

Deploy = Callable[..., Deployment]

ON_CLUSTER = """
master: k8s://https://kubernetes.default.svc
storage: s3a://lake/orders
"""


@pytest.fixture
def deploy(tmp_path: Path) -> Deploy:
    """Writes `settings` under a name into a pipeline file; options of the deployment follow."""

    def write(settings: str = "", *, name: str = "orders", **options: object) -> Deployment:
        (tmp_path / "pipeline.py").touch()
        (tmp_path / "penstock.yml").write_text(f"name: {name}\n{settings}")
        return Deployment(config=load_project(tmp_path), **options)  # type: ignore[arg-type] # of the test's choice

    return write
