"""The file of stand-in functions: run first, noticed, not a pipeline file; without Spark."""

from __future__ import annotations

from pathlib import Path

from tests.unit.declare.conftest import Load

from penstock.config import load_project

PIPELINE = "import dlt\n@dlt.table\ndef t(): ...\n"


def test_it_is_run_first_and_noticed(load: Load, tmp_path: Path) -> None:
    shown: list[object] = []
    (tmp_path / "stand_ins.py").write_text("import helper\nspark.conf.set('ready', helper.VALUE)\n")
    (tmp_path / "helper.py").write_text("VALUE = 'yes'\n")
    registry = load("display(spark.conf.get('ready'))\n", display=shown.append, stand_ins=tmp_path / "stand_ins.py")
    assert registry.errors == ()
    assert shown == ["yes"]
    (notice,) = registry.notices
    assert (notice.condition, str(notice.location)) == ("STAND_INS_IN_USE", "stand_ins.py")


def test_its_mistakes_are_those_of_a_file(load: Load, tmp_path: Path) -> None:
    (tmp_path / "stand_ins.py").write_text("x = 1\nspark.udf.register('a', len)\nprint(missing)\n")
    registry = load(PIPELINE, stand_ins=tmp_path / "stand_ins.py")
    assert [(error.condition, str(error.location)) for error in registry.errors] == [
        ("SPARK_NOT_STARTED", "stand_ins.py:2")
    ]
    assert [dataset.identifier.name for dataset in registry.datasets] == ["t"]
    (error,) = load(PIPELINE, stand_ins=tmp_path / "nowhere.py").errors
    assert (error.condition, str(error.location)) == ("PIPELINE_FILE_UNREADABLE", "nowhere.py")


def test_it_is_no_source_file_and_belongs_to_an_environment(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: o\nenvironments: {dev: {stand_ins: stand_ins.py}}\n")
    for name in ("stand_ins.py", "pipeline.py"):
        (tmp_path / name).write_text("")
    config = load_project(tmp_path, environment="dev")
    assert config.stand_ins == tmp_path / "stand_ins.py"
    assert config.source_files() == [tmp_path / "pipeline.py"]
    assert load_project(tmp_path).stand_ins is None
