from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from penstock.errors import ConfigError
from penstock.spark.session.defaults import Machine, session_conf
from penstock.spark.session.driver_process import _escape, _jvm_options, _memory, _quote
from penstock.spark.session.python_shipping import _write_archive


@pytest.mark.parametrize(("value", "option"), [("2g", "2g"), ("1500m", "1500m"), ("2GB", "2g"), ("512", "512m")])
def test_driver_memory(value: str, option: str) -> None:
    assert _memory({"spark.driver.memory": value}) == option


@pytest.mark.parametrize("value", ["lots", "2.5g", "", "-1g", "2gg"])
def test_driver_memory_that_is_no_size(value: str) -> None:
    with pytest.raises(ConfigError) as raised:
        _memory({"spark.driver.memory": value})
    assert raised.value.condition == "SPARK_SETTING_INVALID"
    assert (raised.value.facts["key"], raised.value.facts["value"]) == ("spark.driver.memory", value)


def test_java_options_with_an_open_quote(tmp_path: Path) -> None:
    conf = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": "-Da='b"}
    with pytest.raises(ConfigError) as raised:
        _jvm_options(conf, tmp_path / "log")
    assert raised.value.condition == "SPARK_SETTING_INVALID"
    assert raised.value.facts["key"] == "spark.driver.extraJavaOptions"


@pytest.mark.parametrize(
    ("master", "expected"), [("local[2]", True), ("local[8]", False), ("spark://host:7077", False)]
)
def test_on_few_cores_code_is_optimized_later_unless_the_user_says_when(
    tmp_path: Path, master: str, expected: bool
) -> None:
    theirs = "-XX:Tier4BackEdgeThreshold=40000"
    conf = session_conf(Machine.of(master), {"spark.driver.extraJavaOptions": theirs})
    options = [option for option in _jvm_options(conf, tmp_path / "log") if "Tier4" in option]
    assert ("-XX:Tier4InvocationThreshold=100000" in options) is expected
    assert options[-1] == theirs  # Java takes the last one


def test_the_users_garbage_collector_replaces_ours(tmp_path: Path) -> None:
    conf = session_conf(Machine.of("local"), {"spark.driver.extraJavaOptions": "-XX:+UseG1GC -Da=b"})
    options = _jvm_options(conf, tmp_path / "log")
    assert [option for option in options if option.endswith("GC")] == ["-XX:+UseG1GC"]
    assert options[-1] == "-Da=b"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [("a=b: c", r"a\=b\:\ c"), ("C:\\x", r"C\:\\x"), ("é", r"\u00e9"), ("𝄞", r"\ud834\udd1e"), ("#!\n\t", r"\#\!\n\t")],
)
def test_settings_as_java_reads_them(text: str, escaped: str) -> None:
    assert _escape(text) == escaped


def test_arguments_as_java_reads_them() -> None:
    assert _quote('-Da="b\\c d"') == '"-Da=\\"b\\\\c d\\""'


def test_only_the_users_python_files_are_shipped(tmp_path: Path) -> None:
    root = tmp_path / "project"
    for name in ("a.py", "transformations/b.py", ".penstock/c.py", "venv/lib/d.py", "__pycache__/e.py", "data/f.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    (root / "venv" / "pyvenv.cfg").write_text("")
    assert _write_archive(tmp_path / "out.zip", root, root)
    assert zipfile.ZipFile(tmp_path / "out.zip").namelist() == ["a.py", "transformations/b.py"]


def test_an_older_python_is_told_so() -> None:
    program = "import sys; sys.version_info = (3, 9, 1); import penstock"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert answer.stderr.startswith("[PYTHON_TOO_OLD]")
    assert sys.executable in answer.stderr
    assert "Traceback" not in answer.stderr
