from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.config import load_project
from penstock.spark.accelerators import own_classes
from penstock.spark.accelerators.accelerator import choose
from penstock.spark.accelerators.own_classes import KNOWN_STATE_EXTENSION
from penstock.spark.session.cluster.settings import unauthenticated
from penstock.spark.session.defaults import DEFAULTS, DELTA_EXTENSION, Machine, session_conf
from penstock.spark.session.snapshot_partitions import SMALL, SNAPSHOT_PARTITIONS, snapshot_partitions

CLUSTER = Machine.of("spark://spark.test:7077")
LOCAL = Machine.of("local[2]")


@pytest.mark.parametrize(
    ("master", "local", "cores", "loopback"),
    [
        ("local", True, 1, True),
        ("local[3]", True, 3, True),
        ("local[4,2]", True, 4, True),
        ("local[*]", True, len(os.sched_getaffinity(0)), True),
        ("spark://127.0.0.1:7077", False, None, True),
        ("spark://localhost:7077", False, None, True),
        ("local-cluster[2,1,1024]", False, None, True),
        ("spark://127.test.example:7077", False, None, False),
        ("yarn", False, None, False),
        ("k8s://https://k8s.test", False, None, False),
    ],
)
def test_what_a_master_means(master: str, local: bool, cores: int | None, loopback: bool) -> None:
    machine = Machine.of(master)
    assert (machine.local, machine.loopback) == (local, loopback)
    assert cores is None or machine.cores == cores


def test_each_default_stands_once_and_has_a_reason() -> None:
    keys = [default.key for default in DEFAULTS]
    assert len(keys) == len(set(keys))
    assert all(len(default.reason) > 10 for default in DEFAULTS)


def test_the_user_wins() -> None:
    for default in DEFAULTS:
        if default.key not in {"spark.sql.extensions", "spark.driver.extraJavaOptions"}:
            assert session_conf(CLUSTER, {default.key: "mine"})[default.key] == "mine"


def test_the_state_of_small_tables_is_rebuilt_in_one_task_on_every_master() -> None:
    assert {session_conf(each, {})[SNAPSHOT_PARTITIONS] for each in (CLUSTER, LOCAL)} == {SMALL}
    files = (0, 20_000, 20_001, 1_000_000, 50_000_000)
    assert [snapshot_partitions(each) for each in files] == [1, 1, 2, 50, 50]


def test_files_are_created_without_processes_where_every_process_gets_the_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    store, files = "spark.delta.logStore.file.impl", "spark.hadoop.fs.file.impl"
    managed = Machine.of("yarn")  # its application master reads the settings without having the jar
    assert [files in session_conf(each, {}) for each in (LOCAL, CLUSTER, managed)] == [True, True, False]
    assert all(store in session_conf(each, {}) for each in (LOCAL, CLUSTER, managed))
    monkeypatch.setattr(own_classes, "JAR", Path("no.jar"))
    assert not {store, files} & session_conf(LOCAL, {}).keys()
    assert own_classes.own_jars() == []


@pytest.mark.parametrize(
    ("schemes", "name"),
    [(("s3", "s3a"), own_classes.OBJECT_LOG_STORE), (("abfs", "abfss"), own_classes.AZURE_LOG_STORE)],
)
def test_commits_in_object_stores_are_conditional_whatever_the_master(
    monkeypatch: pytest.MonkeyPatch, schemes: tuple[str, ...], name: str
) -> None:
    keys = {f"spark.delta.logStore.{scheme}.impl" for scheme in schemes}
    for machine in (LOCAL, CLUSTER):
        conf = session_conf(machine, {})
        assert {conf[key] for key in keys} == {name}
        assert not keys & session_conf(machine, {"spark.delta.logStore.class": "com.example.Mine"}).keys()
    monkeypatch.setattr(own_classes, "JAR", Path("no.jar"))
    assert not keys & session_conf(CLUSTER, {}).keys()


def test_deltas_own_setting_for_all_logs_stands_alone() -> None:
    chosen = {"spark.delta.logStore.class": "com.example.Mine"}  # Delta refuses it beside one for a scheme
    assert "spark.delta.logStore.file.impl" not in session_conf(LOCAL, chosen)
    assert "spark.hadoop.fs.file.impl" in session_conf(LOCAL, chosen)


@pytest.mark.parametrize(
    ("master", "settings", "installed", "authenticated"),
    [
        ("local[*]", "", "", True),
        ("local[4, 2]", "", "", True),
        ("k8s://https://k8s.test", "", "", True),
        ("local[*]", "spark.authenticate: false", "spark.authenticate true", False),
        ("spark://127.0.0.1:7077", "", "", False),
        ("spark://spark.test:7077", "spark.authenticate: true", "", True),
        ("spark://spark.test:7077", "", "# none\nspark.authenticate   true\n", True),
        ("spark://spark.test:7077", "", "spark.authenticate.secret true\n#spark.authenticate true\n", False),
        ("yarn", "", "spark.authenticate=false\n", False),
    ],
)
def test_who_talks_to_the_driver_has_to_know_a_secret(
    master: str, settings: str, installed: str, authenticated: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "penstock.yml").write_text(f"name: a\nmaster: '{master}'\nspark_conf: {{{settings}}}\n")
    (tmp_path / "spark-defaults.conf").write_text(installed)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    found = unauthenticated(load_project(tmp_path))
    assert (found is None) is authenticated
    if found is not None:
        assert (found.condition, found.facts["master"]) == ("SPARK_NOT_AUTHENTICATED", master)
        runner = CliRunner().invoke(app, ["doctor", str(tmp_path), "--json"])
        assert [each["condition"] for each in json.loads(runner.stdout)["findings"]] == ["SPARK_NOT_AUTHENTICATED"]


def test_lists_add_up() -> None:
    conf = session_conf(
        CLUSTER, {"spark.sql.extensions": "com.example.Mine", "spark.jars": "b.jar"}, [("spark.jars", "a.jar")]
    )
    assert conf["spark.sql.extensions"] == f"{DELTA_EXTENSION},{KNOWN_STATE_EXTENSION},com.example.Mine"
    assert conf["spark.jars"] == "a.jar,b.jar"
    named = f"com.example.Mine,{DELTA_EXTENSION}"
    joined = session_conf(CLUSTER, {"spark.sql.extensions": named})["spark.sql.extensions"]
    assert joined == f"{KNOWN_STATE_EXTENSION},{named}"


def test_the_extension_of_known_state_is_left_out_with_its_accelerator() -> None:
    choose({"penstock.accelerators.known_state": "off"}, {})
    try:
        assert session_conf(CLUSTER, {})["spark.sql.extensions"] == DELTA_EXTENSION
    finally:
        choose({})


def test_a_cluster_keeps_its_own_sizes_and_addresses() -> None:
    conf = session_conf(CLUSTER, {})
    assert "spark.sql.shuffle.partitions" not in conf
    assert "spark.driver.host" not in conf
    local = session_conf(Machine.of("local[3]"), {})
    assert (local["spark.sql.shuffle.partitions"], local["spark.driver.host"]) == ("3", "127.0.0.1")


@pytest.mark.parametrize(
    "key",
    [
        "spark.kafka.sasl.jaas.config",
        "fs.azure.account.key.lake",
        "fs.s3a.access.key",
        "x.connectionString",
        "db.PASSWORD",
    ],
)
def test_keys_with_secrets_are_redacted(key: str) -> None:
    assert re.search(session_conf(CLUSTER, {})["spark.redaction.regex"], key)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("url jdbc://me:hunter2@db.test/x", "hunter2"),
        ('PlainLoginModule required password="hunter2";', "hunter2"),
        ("Endpoint=sb://x/;SharedAccessKey=hunter2;", "hunter2"),
        ("PWD=Hunter2", "Hunter2"),
        ("key AKIAABCDEFGHIJKLMNOP used", "AKIAABCDEFGHIJKLMNOP"),
    ],
)
def test_texts_with_secrets_are_redacted(text: str, hidden: str) -> None:
    assert hidden not in re.sub(session_conf(CLUSTER, {})["spark.redaction.string.regex"], "***", text)
