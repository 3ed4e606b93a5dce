from __future__ import annotations

from pathlib import Path

import pytest

from penstock.config import load_project
from penstock.spark.launch import SessionConfig


@pytest.mark.parametrize(
    ("settings", "code", "jars"),
    [
        ("", "", ()),
        ("", "# an https://s3.example.test, and myS3a://", ()),
        ("", "spark.read.json('s3a://raw/orders')", ("s3",)),
        ("", "spark.read.json('s3://raw/orders')", ("s3",)),
        ("paths: {/mnt/raw: s3a://raw}", "", ("s3",)),
        ("configuration: {source: s3://raw/orders}", "", ("s3",)),
        ("spark_conf: {spark.hadoop.fs.s3a.endpoint.region: eu-central-1}", "", ("s3",)),
        ("spark_conf: {spark.hadoop.fs.azure.account.auth.type: OAuth}", "", ()),
    ],
)
def test_the_s3_client_is_fetched_where_a_text_of_the_pipeline_asks_for_it(
    tmp_path: Path, settings: str, code: str, jars: tuple[str, ...]
) -> None:
    (tmp_path / "penstock.yml").write_text(f"name: orders\n{settings}\n")
    (tmp_path / "pipeline.py").write_text(code)
    assert SessionConfig.of(load_project(tmp_path), short_lived=False).jar_sets == jars


def test_a_pipeline_without_files_is_refused_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\nlibraries: [{file: {path: nothing.py}}]\n")
    assert SessionConfig.of(load_project(tmp_path), short_lived=False).jar_sets == ()
