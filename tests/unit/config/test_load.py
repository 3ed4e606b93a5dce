from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.unit.config.conftest import Project

from penstock.config import RetrySettings, Trigger, TriggerKind, load_project
from penstock.config.files.locate import nearest_project


def test_defaults(project: Project) -> None:
    folder = project("name: orders\n")
    config = load_project(folder)
    absolute = folder.resolve()
    assert dataclasses.asdict(config) == {
        "name": "orders",
        "directory": absolute,
        "file": {"path": "orders/penstock.yml", "line": None, "column": None},
        "environment": None,
        "libraries": (),
        "catalog": None,
        "catalogs": (),
        "schema": "default",
        "storage_access": None,
        "stop_timeout": 30.0,
        "cluster_timeout": 30.0,
        "strict": False,
        "storage": str(absolute / ".penstock"),
        "continuous": False,
        "trigger": {"kind": TriggerKind.AVAILABLE_NOW, "interval": None},
        "configuration": {},
        "paths": {},
        "stand_ins": None,
        "secrets": {},
        "spark_conf": {},
        "master": "local[*]",
        "retries": {"max_flow_retries": None, "first_delay": 5.0, "longest_delay": 60.0},
        "maintenance": {"automatic": True, "interval": 86_400.0},
        "alerts": {"tables": {}, "destinations": (), "keep_firing_for": 300.0},
        "lineage": {
            "namespace": "penstock",
            "file": None,
            "url": None,
            "endpoint": "api/v1/lineage",
            "token": None,
        },
        "audit": {"reads": True, "required": False},
        "access": {"roles": {}, "default_deny": False, "event_table": None},
        "serve": {
            "address": "127.0.0.1",
            "port": 10_000,
            "users": {},
            "ldap_url": None,
            "ldap_user": None,
            "ldap_certificates": None,
            "ldap_starttls": False,
            "ldap_roles": {},
            "ldap_base": None,
            "ldap_group_filter": None,
            "keystore": None,
            "keystore_password": None,
            "query_timeout": 300.0,
            "row_limit": 1_000_000,
            "max_result_size": "256m",
            "memory": None,
            "connections": 100,
            "health_port": None,
        },
        "event_log": None,
        "event_log_retention": 30 * 86_400.0,
        "metrics": {
            "port": None,
            "address": "127.0.0.1",
            "certificate": None,
            "key": None,
            "token": None,
            "textfile": None,
            "otlp": None,
        },
        "references": {},
        "batch_of": None,
        "notices": (),
        "of_databricks": False,
    }


def test_every_key(project: Project) -> None:
    config = load_project(
        project(
            """\
            name: orders
            libraries:
              - glob: {include: transformations/**}
              - file: {path: extra.py}
            catalog: main
            schema: shop
            storage: s3a://lake/orders
            continuous: true
            trigger: 10 seconds
            configuration: {source: ./data/orders, limit: 1_0, share: 1.10, fast: True, day: 2026-01-02, none: ""}
            paths: {/Volumes/main/raw: ./data, dbfs:/x: s3a://b/x}
            secrets:
              kafka_password: ${env:KAFKA_PASSWORD}
            spark_conf: {spark.sql.shuffle.partitions: 4}
            master: spark://host:7077
            retries: {max_flow_retries: 0, first_delay: 1 second, longest_delay: 1 minute}
            """
        )
    )
    here = Path("orders").resolve()
    assert [(library.pattern, library.kind.value, library.location.line) for library in config.libraries] == [
        ("transformations/**", "glob", 3),
        ("extra.py", "file", 4),
    ]
    assert (config.catalog, config.schema, config.storage) == ("main", "shop", "s3a://lake/orders")
    assert config.trigger == Trigger(TriggerKind.PROCESSING_TIME, "10 seconds")
    assert config.keeps_running
    assert config.configuration == {
        "source": "./data/orders",
        "limit": "1_0",
        "share": "1.10",
        "fast": "true",
        "day": "2026-01-02",
        "none": "",
    }
    assert config.paths == {"/Volumes/main/raw": str(here / "data"), "dbfs:/x": "s3a://b/x"}
    assert config.spark_conf == {"spark.sql.shuffle.partitions": "4"}
    assert config.master == "spark://host:7077"
    assert config.retries == RetrySettings(0, 1.0, 60.0)


@pytest.mark.parametrize("key", ["schema", "database", "target"])
def test_schema_has_the_names_of_the_other_systems(project: Project, key: str) -> None:
    assert load_project(project(f"name: orders\n{key}: shop\n")).schema == "shop"


def test_an_environment_lies_over_the_file_and_merges_mappings(project: Project) -> None:
    folder = project(
        """\
        name: orders
        schema: shop
        storage: here
        trigger: available_now
        libraries: [{file: {path: a.py}}]
        configuration: {source: ./data, limit: 1}
        retries: {first_delay: 1 second}
        environments:
          prod:
            database: live
            storage: s3a://lake/orders
            continuous: true
            libraries: [{file: {path: b.py}}]
            configuration: {limit: 2}
            retries: {max_flow_retries: 9}
          empty:
        """
    )
    config = load_project(folder, environment="prod")
    assert (config.schema, config.storage, config.environment) == ("live", "s3a://lake/orders", "prod")
    assert config.configuration == {"source": "./data", "limit": "2"}
    assert [library.pattern for library in config.libraries] == ["b.py"]
    assert config.retries == RetrySettings(9, 1.0, 60.0)
    assert config.trigger == Trigger(TriggerKind.PROCESSING_TIME)
    assert load_project(folder, environment="empty").storage == str(Path("orders/here").resolve())
    assert load_project(folder).continuous is False


def test_overrides_win_over_the_environment(project: Project) -> None:
    folder = project("name: o\nconfiguration: {a: 1, b: 1}\nenvironments: {prod: {configuration: {a: 2}}}\n")
    config = load_project(folder, environment="prod", overrides={"a": "3", "c": "4"})
    assert config.configuration == {"a": "3", "b": "1", "c": "4"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("data/x", "{folder}/data/x"),
        ("./data/../x/", "{folder}/x"),
        ("/tmp/x", "/tmp/x"),
        ("~/x", "{home}/x"),
        ("file:///tmp/x", "/tmp/x"),
        ("file:/tmp/a b/", "/tmp/a b"),
        ("hdfs://host:9000/x", "hdfs://host:9000/x"),
    ],
)
def test_storage_is_absolute_or_a_uri(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, expected: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = project(f"name: orders\nstorage: {written}\n")
    wanted = expected.format(folder=folder.resolve(), home=tmp_path / "home")
    assert load_project(folder).storage == wanted


def test_storage_of_the_command_line_is_relative_to_where_it_was_typed(project: Project, tmp_path: Path) -> None:
    assert load_project(project("name: orders\nstorage: a\n"), storage="b").storage == str(tmp_path / "b")


def test_the_file_itself_may_be_named(project: Project) -> None:
    folder = project("name: other\n", "other.yml")
    config = load_project(folder / "other.yml")
    assert (config.name, config.file.path, config.directory) == ("other", "orders/other.yml", folder.resolve())


def test_penstock_yml_is_preferred(project: Project) -> None:
    project("name: spark\n", "spark-pipeline.yml")
    assert load_project(project("name: penstock\n")).name == "penstock"


def test_spark_pipeline_yml(project: Project) -> None:
    config = load_project(
        project(
            """\
            name: orders
            storage: file:///tmp/storage
            catalog: main
            database: shop
            configuration:
              spark.sql.shuffle.partitions: "1000"
              spark.sql.extensions: com.example.Extension
              spark.master: local[2]
              source: ./data
            libraries:
              - glob:
                  include: transformations/**
            """,
            "spark-pipeline.yml",
        )
    )
    assert (config.name, config.storage, config.catalog, config.schema) == (
        "orders",
        "/tmp/storage",
        "main",
        "shop",
    )
    of_spark = {
        "spark.sql.shuffle.partitions": "1000",
        "spark.sql.extensions": "com.example.Extension",
        "spark.master": "local[2]",
    }
    assert config.configuration == {**of_spark, "source": "./data"}
    assert config.spark_conf == of_spark
    assert config.master == "local[2]"
    assert [library.pattern for library in config.libraries] == ["transformations/**"]


def test_configuration_of_penstock_yml_is_not_spark_s(project: Project) -> None:
    config = load_project(project("name: orders\nconfiguration: {spark.master: 'local[2]'}\n"))
    assert (config.spark_conf, config.master) == ({}, "local[*]")


def test_current_folder_and_absolute_paths_are_shown_as_typed(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project("name: orders\n").resolve()
    assert load_project(folder).file.path == "orders/penstock.yml"
    monkeypatch.chdir(folder)
    assert load_project(".").file.path == "penstock.yml"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert load_project("../orders").file.path == "../orders/penstock.yml"


def test_yaml_anchors_and_merge_keys(project: Project) -> None:
    config = load_project(
        project(
            """\
            name: orders
            configuration: &base {a: 1, b: 2}
            environments:
              prod:
                configuration:
                  <<: *base
                  b: 3
            """
        ),
        environment="prod",
    )
    assert config.configuration == {"a": "1", "b": "3"}


def test_run_options(project: Project) -> None:
    config = load_project(project("name: orders\n"))
    assert config.with_run_options() is config
    continuous = config.with_run_options(continuous=True)
    assert (continuous.continuous, continuous.trigger) == (True, Trigger(TriggerKind.PROCESSING_TIME))
    timed = config.with_run_options(trigger="5 seconds")
    assert (timed.continuous, timed.trigger.interval) == (True, "5 seconds")
    once = continuous.with_run_options(continuous=True, trigger="once")
    assert (once.continuous, once.trigger.kind) == (False, TriggerKind.ONCE)
    assert [each.condition for each in once.warnings] == ["CONFIG_TRIGGER_ONCE_REPLACED"]
    assert timed.warnings == ()


def test_run_as_one_batch_stores_in_a_folder_of_its_own_and_stops(project: Project) -> None:
    config = load_project(project("name: orders\nstorage: s3a://lake/orders/\ntrigger: 5 seconds\n"))
    batch = config.as_batch()
    assert (batch.storage, batch.shared_storage) == ("s3a://lake/orders/batch", config.storage)
    assert (batch.continuous, batch.trigger, batch.keeps_running) == (False, Trigger(TriggerKind.AVAILABLE_NOW), False)
    assert (batch.name, config.batch_of, config.keeps_running) == ("orders", None, True)


def test_a_trigger_that_another_outweighs_is_not_told(project: Project) -> None:
    config = load_project(project("name: orders\ntrigger: once\n"))
    assert [each.condition for each in config.warnings] == ["CONFIG_TRIGGER_ONCE_REPLACED"]
    assert config.with_run_options(trigger="available_now").warnings == ()
    assert load_project(project("name: orders\ntrigger: once\ncontinuous: true\n")).warnings == ()


def test_the_nearest_project_is_upwards(tmp_path: Path) -> None:
    (tmp_path / "shop/tests/deep").mkdir(parents=True)
    (tmp_path / "shop/penstock.yml").write_text("name: shop\n")
    assert nearest_project(tmp_path / "shop/tests/deep") == tmp_path / "shop"
    assert nearest_project(tmp_path / "shop") == tmp_path / "shop"
