from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from penstock.config import load_project, load_script
from penstock.runtime.script.session import ScriptSession
from penstock.spark.session.launch import SessionConfig


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
        ("spark_conf: {spark.hadoop.fs.azure.account.auth.type: OAuth}", "", ("azure",)),
        ("", "spark.read.json('abfss://raw@shop.dfs.core.windows.net/orders')", ("azure",)),
        ("", "spark.read.json('gs://raw/orders')", ("gcs",)),
        ("spark_conf: {spark.hadoop.fs.gs.project.id: shop}", "# to s3://archive", ("s3", "gcs")),
        ("", "settings://orders", ()),
    ],
)
def test_a_client_is_fetched_where_a_text_of_the_pipeline_asks_for_it(
    tmp_path: Path, settings: str, code: str, jars: tuple[str, ...]
) -> None:
    (tmp_path / "penstock.yml").write_text(f"name: orders\n{settings}\n")
    (tmp_path / "pipeline.py").write_text(code)
    assert SessionConfig.of(load_project(tmp_path), short_lived=False).jar_sets == jars


def test_a_pipeline_without_files_is_refused_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\nlibraries: [{file: {path: nothing.py}}]\n")
    assert SessionConfig.of(load_project(tmp_path), short_lived=False).jar_sets == ()


@pytest.mark.parametrize(
    ("code", "chosen", "jars"),
    [
        ("orders.writeStream.start('s3://lake/orders')", {}, ("s3",)),
        ("orders.writeStream.start(path)", {"spark.hadoop.fs.s3a.endpoint.region": "eu-central-1"}, ("s3",)),
        ("orders.writeStream.start('/srv/orders')", {}, ()),
    ],
)
def test_and_where_the_text_of_a_script_or_its_builder_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, chosen: dict[str, str], jars: tuple[str, ...]
) -> None:
    script = tmp_path / "app.py"
    script.write_text(code)
    started = Mock()
    monkeypatch.setattr("penstock.runtime.script.session.start_session", started)
    session = ScriptSession(
        load_script(script), script, notice=Mock(), locate=Mock(), on_start=Mock(), progress=lambda _line: None
    )
    session.get(chosen)
    assert started.call_args.args[0].jar_sets == jars
