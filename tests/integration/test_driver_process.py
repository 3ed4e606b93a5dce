"""Python and the JVM: how they start, and what each does when the other dies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.processes import end_family, wait_until

from penstock.spark.session.driver_process import MODULE_OPTIONS
from penstock.spark.session.setup import find_java, prefetch
from penstock.spark.session.setup.cache import cache_directory
from penstock.spark.session.setup.known_jars import SPARK_HOME

PROGRAM = """
import json, sys, time
from penstock.errors import PenstockError
from penstock.spark.session import session as s
from penstock.spark.session.launch import SessionConfig

def start(**more):
    conf = {"spark.driver.memory": "512m", "spark.sql.shuffle.partitions": "1"} | more.pop("conf", {})
    return s.start_session(SessionConfig(name="child", master="local[1]", spark_conf=conf, short_lived=True, **more))

def tell(**facts):
    print(json.dumps(facts), flush=True)

"""


class Child:
    """A Python process that runs a program over `PROGRAM` and tells facts as JSON lines."""

    def __init__(self, program: str, environ: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error::ResourceWarning", "-c", PROGRAM + textwrap.dedent(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environ},
        )

    def hear(self) -> dict[str, Any]:
        """Returns the next facts that the program tells."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            assert self.process.stderr is not None
            pytest.fail(f"the child told nothing more:\n{self.process.stderr.read()}")
        facts: dict[str, Any] = json.loads(line)
        return facts

    def go_on(self) -> None:
        """Lets the program read a line of its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def finish(self) -> tuple[int, str]:
        """Waits for its end; returns exit code and standard error."""
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors

    def jvm(self) -> psutil.Process:
        """The JVM that it started."""
        [jvm] = [each for each in psutil.Process(self.process.pid).children() if "java" in each.name()]
        return jvm


@pytest.fixture(autouse=True, scope="module")
def _class_archive() -> None:
    """The archive of classes is there: it halves the work of a start, and no start makes it beside itself."""
    prefetch(print)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Any]:
    children: list[Child] = []

    def start(program: str, **environ: str) -> Child:
        children.append(Child(program, {"TMPDIR": str(tmp_path), **environ}))
        return children[-1]

    yield start
    for child in children:
        end_family(child.process.pid)
        child.process.communicate(timeout=30)


def test_a_session_starts_says_nothing_and_leaves_nothing(run: Any, tmp_path: Path) -> None:
    child = run("""
        spark = start(conf={"pipelines.mine": "1"})
        tell(rows=spark.range(3).count(), mine=spark.conf.get("pipelines.mine"))
        s.stop_session(spark)
        spark = start(conf={"spark.sql.shuffle.partitions": "3"})  # another one, with other settings
        tell(partitions=spark.conf.get("spark.sql.shuffle.partitions"), log=str(s.driver_log()))
        s.stop_session(spark)
    """)
    assert child.hear() == {"rows": 3, "mine": "1"}
    assert child.hear()["partitions"] == "3"
    assert child.finish() == (0, "")
    assert [left.name for left in tmp_path.iterdir() if left.name.startswith("penstock-")] == []


def test_a_jvm_that_was_launched_ahead_is_used_once_and_ends_when_nobody_asks_for_it(run: Any, tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: ahead\nmaster: local[1]\n", encoding="utf-8")
    child = run(
        """
        import os
        from pathlib import Path
        from penstock.config import load_project
        from penstock.spark.session.launch import launch_ahead

        pipeline = load_project(Path(os.environ["PROJECT"]))
        launch_ahead(pipeline, short_lived=True)
        tell()
        sys.stdin.readline()
        spark = s.start_session(SessionConfig.of(pipeline, short_lived=True))
        tell(name=spark.sparkContext.appName)
        sys.stdin.readline()
        s.stop_session(spark)
        launch_ahead(pipeline, short_lived=False)
        tell()
        sys.stdin.readline()
        """,
        PROJECT=str(tmp_path),
    )
    child.hear()
    ahead = child.jvm()
    child.go_on()
    assert child.hear() == {"name": "ahead"}
    assert child.jvm() == ahead
    child.go_on()
    child.hear()
    unwanted = child.jvm()
    assert unwanted != ahead
    child.go_on()
    assert child.finish() == (0, "")
    assert not unwanted.is_running()
    assert [left.name for left in tmp_path.iterdir() if left.name.startswith("penstock-")] == []


def test_settings_are_not_in_the_process_list_nor_left_on_disk_and_a_killed_python_takes_its_jvm_along(
    run: Any, tmp_path: Path
) -> None:
    child = run("""
        spark = start(conf={"spark.hadoop.fs.s3a.secret.key": "hunter2 = \\\\ é"})
        tell(secret=spark.sparkContext.getConf().get("spark.hadoop.fs.s3a.secret.key"))
        sys.stdin.read()
    """)
    assert child.hear() == {"secret": "hunter2 = \\ é"}
    jvm = child.jvm()
    assert "hunter2" not in " ".join(jvm.cmdline())
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file.stat().st_size < 100_000]
    assert not [file for file in files if b"hunter2" in file.read_bytes()]
    [folder] = tmp_path.glob("penstock-*")
    assert folder.stat().st_mode & 0o077 == 0
    child.process.send_signal(signal.SIGKILL)
    child.process.wait(10)
    wait_until(lambda: not jvm.is_running() or jvm.status() == psutil.STATUS_ZOMBIE, timeout=10, what="the JVM's end")


def test_when_the_jvm_is_killed_python_can_tell_and_go_on(run: Any) -> None:
    child = run("""
        spark = start()
        tell()
        sys.stdin.readline()
        try:
            spark.range(1).count()
        except Exception as error:
            tell(error=isinstance(error, (OSError, s.Py4JError)), code=s.jvm_exit_code(within=10))
        s.stop_session(spark)
        spark = start()
        tell(rows=spark.range(2).count())
        s.stop_session(spark)
    """)
    child.hear()
    jvm = child.jvm()
    jvm.kill()
    wait_until(lambda: jvm.status() == psutil.STATUS_ZOMBIE, timeout=10, what="the JVM's end")
    child.process.stdin.write("\n")
    child.process.stdin.flush()
    assert child.hear() == {"error": True, "code": -9}
    assert child.hear() == {"rows": 2}
    assert child.finish()[0] == 0


@pytest.mark.parametrize(
    ("conf", "condition", "reason"),
    [
        ({"spark.driver.memory": "99999999g"}, "JVM_NOT_STARTED", "Could not reserve enough space"),
        pytest.param(
            {"spark.driver.extraJavaOptions": "-Xss1k"}, "JVM_NOT_STARTED", "stack size", marks=pytest.mark.slow
        ),
    ],
)
def test_settings_that_stop_the_start(run: Any, conf: dict[str, str], condition: str, reason: str) -> None:
    child = run(f"""
        try:
            start(conf={conf!r})
        except PenstockError as error:
            tell(condition=error.condition, facts=error.facts, code=error.exit_code)
    """)
    told = child.hear()
    assert (told["condition"], told["code"]) == (condition, 1)
    assert reason in told["facts"]["reason"]
    assert Path(told["facts"]["log"]).is_file()
    assert child.finish() == (0, "")


@pytest.mark.parametrize(
    "setting",
    [("spark.sql.shuffle.partitions", "two"), pytest.param(("spark.scheduler.mode", "NOPE"), marks=pytest.mark.slow)],
)
def test_a_setting_that_spark_refuses(run: Any, setting: tuple[str, str]) -> None:
    key, value = setting
    child = run(f"""
        try:
            start(conf={{{key!r}: {value!r}}})
        except PenstockError as error:
            tell(condition=error.condition, key=error.facts["key"], value=error.facts["value"], code=error.exit_code)
    """)
    assert child.hear() == {"condition": "SPARK_SETTING_INVALID", "key": key, "value": value, "code": 2}
    assert child.finish() == (0, "")


@pytest.mark.slow
def test_a_master_that_is_not_one(run: Any) -> None:
    child = run("""
        try:
            s.start_session(SessionConfig(name="child", master="locall[2]"))
        except PenstockError as error:
            tell(condition=error.condition, master=error.facts["master"], code=error.exit_code)
    """)
    assert child.hear() == {"condition": "SPARK_START_FAILED", "master": "locall[2]", "code": 1}
    assert child.finish() == (0, "")


@pytest.mark.slow
def test_a_damaged_class_archive_is_not_noticed(run: Any, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    shutil.copytree(cache_directory() / "jars", cache / "jars", copy_function=shutil.copy2)
    child = run(
        """
        from penstock.spark.session.setup import ensure_jars, find_java
        from penstock.spark.session.setup.class_archive import archive_path
        from penstock.spark.session.setup.known_jars import spark_class_path
        archive = archive_path(find_java(), spark_class_path(ensure_jars("core")))
        archive.parent.mkdir()
        archive.write_bytes(b"garbage" * 1000)
        archive.with_suffix(".size").write_text("7000")
        spark = start()
        tell(rows=spark.range(3).count())
        s.stop_session(spark)
        """,
        PENSTOCK_CACHE=str(cache),
        PENSTOCK_CLASS_ARCHIVE="on",
    )
    assert child.hear() == {"rows": 3}
    assert child.finish() == (0, "")


def test_the_java_that_came_with_penstock_runs_spark(run: Any, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for folder in reversed(os.environ["PATH"].split(os.pathsep)):
        for program in Path(folder).glob("*"):
            (tmp_path / "bin" / program.name).unlink(missing_ok=True)
            (tmp_path / "bin" / program.name).symlink_to(program)
    (tmp_path / "bin" / "java").unlink(missing_ok=True)
    child = run(
        f"""
        import os
        os.environ.pop("JAVA_HOME", None)
        spark = start()
        spark.range(3).write.format("delta").save({str(tmp_path / "table")!r})
        version = spark.sparkContext._jvm.java.lang.System.getProperty("java.version")
        tell(rows=spark.read.format("delta").load({str(tmp_path / "table")!r}).count(), java=version)
        s.stop_session(spark)
        """,
        PATH=str(tmp_path / "bin"),
        PENSTOCK_CLASS_ARCHIVE="off",  # it would make one for this Java
    )
    assert child.hear() == {"rows": 3, "java": "21.0.8"}
    assert child.finish() == (0, "")


def test_the_module_options_are_those_of_sparks_launcher() -> None:
    command = [str(find_java().executable), "-cp", str(SPARK_HOME / "jars" / "*"), "org.apache.spark.launcher.Main"]
    answer = subprocess.run(
        [*command, "org.apache.spark.deploy.SparkSubmit", "pyspark-shell"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "SPARK_HOME": str(SPARK_HOME), "SPARK_SCALA_VERSION": "2.13"},
    )
    parts = answer.stdout.split("\0")
    first = next(number for number, part in enumerate(parts) if "IgnoreUnrecognizedVMOptions" in part)
    theirs = [part.strip() for part in parts[first : parts.index("org.apache.spark.deploy.SparkSubmit")]]
    dropped = {"--add-modules=jdk.incubator.vector", "-Dderby.connection.requireAuthentication=false"}
    assert [option for option in theirs if option not in dropped] == list(MODULE_OPTIONS)
