"""Loading files: their globals, their imports, and what is left behind."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.unit.declare.conftest import Load

from penstock.declare import load_pipeline
from penstock.declare.code.given_names import GraphOnlySession
from penstock.errors import ConfigError, DefinitionError

FILES = {
    "transformations/a.py": "import dlt, b\n@dlt.table\ndef from_a(): return b.VALUE\n",
    "transformations/b.py": "import dlt\nVALUE = len([spark])\n@dlt.table\ndef from_b(): return VALUE\n",
    "transformations/c.py": "import dlt\nfrom transformations import b\n@dlt.view\ndef from_c(): return b.VALUE\n",
}


@pytest.mark.parametrize("order", list(itertools.permutations(FILES)))
def test_any_order_declares_the_same_once(load: Load, order: tuple[str, ...]) -> None:
    registry = load(**FILES, libraries=list(order))
    assert registry.errors == ()
    assert sorted(dataset.identifier.name for dataset in registry.datasets) == ["from_a", "from_b", "from_c"]
    assert {str(dataset.location) for dataset in registry.datasets} == {
        "transformations/a.py:2",
        "transformations/b.py:3",
        "transformations/c.py:3",
    }
    assert [flow.function() for flow in registry.flows] == [1, 1]


def test_modules_beside_the_libraries_declare_too(load: Load) -> None:
    registry = load(
        "import tables, tables\nfrom package.inner import NAME\n",
        **{
            "tables.py": "import dlt\ndlt.create_streaming_table('t')\n",
            "package/__init__.py": "",
            "package/inner.py": "import dlt\nNAME = 'n'\ndlt.create_streaming_table(NAME)\n",
        },
        libraries=["pipeline.py"],
    )
    assert registry.errors == ()
    assert [str(dataset.location) for dataset in registry.datasets] == ["tables.py:2", "package/inner.py:3"]


def test_circular_imports(load: Load) -> None:
    files = {"one.py": "import two\nA = 1\n", "two.py": "import one\ndef f(): return one.A\n"}
    registry = load("import dlt, two\n@dlt.table\ndef t(): return two.f()\n", **files)
    assert registry.errors == ()
    assert registry.flows[0].function() == 1


def test_globals_of_a_file(load: Load) -> None:
    shown: list[object] = []
    spark = GraphOnlySession({})
    registry = load(
        """
        import sys, dataclasses
        from pathlib import Path
        assert Path(__file__).name == "pipeline.py"
        assert sys.modules[__name__].spark is spark
        @dataclasses.dataclass
        class Order:
            id: int
        display(Order(1).id)
        """,
        spark=spark,
        display=shown.append,
    )
    assert registry.errors == ()
    assert shown == [1]


MAIN = """
def declare(name):
    @dlt.table(name=name)
    def query():
        return spark.range(3)

if __name__ == "__main__":
    declare("{name}")
"""


def test_the_main_block_of_files_that_databricks_runs_under_that_name(load: Load) -> None:
    files = {
        "file.py": "import dlt\nimport helper\n",
        "notebook.py": "# Databricks notebook source\nimport dlt\n",
        "spark.py": "from pyspark import pipelines as dlt\n",
        "helper.py": "import dlt\n",
    }
    texts = {name: start + MAIN.format(name=name.removesuffix(".py")) for name, start in files.items()}
    registry = load(**texts, libraries=["file.py", "notebook.py", "spark.py"])
    assert [str(each.identifier) for each in registry.graph().tables] == ["default.file", "default.notebook"]


def test_configuration_without_a_session(load: Load) -> None:
    registry = load(
        """
        assert spark.conf.get("source") == "./data"
        assert spark.conf.get("other", "fallback") == "fallback"
        spark.conf.set("flag", True)
        assert spark.conf.get("flag") == "true"
        spark.conf.unset("flag")
        assert spark.conf.get("flag", None) is None
        spark.conf.get("missing.key")
        """,
        configuration={"source": "./data"},
    )
    (error,) = registry.errors
    assert (error.condition, error.facts, str(error.location)) == (
        "SQL_CONF_NOT_FOUND",
        {"key": "missing.key"},
        "pipeline.py:8",
    )


def test_spark_that_was_not_started(load: Load) -> None:
    registry = load("spark.read.table('t').collect()\n")
    (error,) = registry.errors
    assert (error.condition, error.facts) == ("SPARK_NOT_STARTED", {"attribute": "read"})


class _RecordingSession:
    """The one part of a session that the loader itself touches."""

    def __init__(self, refuses: str = "") -> None:
        self.values: dict[str, str] = {}
        self.refuses = refuses
        self.conf = self

    def set(self, key: str, value: str) -> None:
        if key == self.refuses:
            message = "cannot modify\na static config"
            raise ValueError(message)
        self.values[key] = value


def test_configuration_is_set_on_the_session(load: Load) -> None:
    session = _RecordingSession()
    load("", spark=session, configuration={"source": "./data"})
    assert session.values == {"source": "./data"}


def test_configuration_that_spark_refuses(load: Load) -> None:
    with pytest.raises(ConfigError) as raised:
        load("", spark=_RecordingSession(refuses="k"), configuration={"k": "secret"})
    assert raised.value.condition == "CONFIGURATION_KEY_REFUSED"
    assert raised.value.facts == {"key": "k", "reason": "cannot modify"}


def test_the_process_is_restored(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    dlthub, dlthub_inner, old_config = ModuleType("dlt"), ModuleType("dlt.sources"), ModuleType("config")
    for module in (dlthub, dlthub_inner, old_config):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    modules, path, finders = dict(sys.modules), list(sys.path), list(sys.meta_path)
    registry = load(
        """
        import dlt, config, sub.inner
        assert not hasattr(dlt, "sources")
        @dlt.table
        def t():
            import config, dlt
            from sub import inner
            return config.NAME, inner.NAME, hasattr(dlt, "expect")
        """,
        **{"config.py": "NAME = 'mine'\n", "sub/inner.py": "NAME = 'inner'\n"},
    )
    assert registry.errors == ()

    def check() -> None:
        assert sys.path == path
        assert sys.meta_path == finders
        assert {name: sys.modules.get(name) for name in modules} == modules
        assert not {"sub", "sub.inner", "config"} & (set(sys.modules) - set(modules))
        assert not [name for name in sys.modules if name.startswith("pipeline_")]

    check()
    assert registry.flows[0].function() == ("mine", "inner", True)
    check()


def test_two_pipelines_with_modules_of_one_name(tmp_path: Path) -> None:
    registries = []
    for name in ("one", "two"):
        root = tmp_path / name
        (root / "lib").mkdir(parents=True)
        (root / "settings.py").write_text(f"NAME = {name!r}\n")
        (root / "lib" / "deep.py").write_text(f"NAME = {name!r}\n")
        (root / "pipeline.py").write_text(
            "import dlt, settings\nfrom lib import deep\n@dlt.table\n"
            "def t():\n    from lib import deep as late\n    return settings.NAME, deep.NAME, late.NAME\n"
        )
        registries.append(load_pipeline([root / "pipeline.py"], root=root))
    assert [registry.errors for registry in registries] == [(), ()]
    assert registries[0].flows[0].function() == ("one",) * 3
    assert registries[1].flows[0].function() == ("two",) * 3


def test_what_a_pipeline_puts_on_the_path_is_its_own(tmp_path: Path) -> None:
    registries = []
    for name in ("one", "two"):
        (tmp_path / name / "shared").mkdir(parents=True)
        (tmp_path / name / "shared" / f"only_{name}.py").write_text(f"NAME = {name!r}\n")
        (tmp_path / name / "pipeline.py").write_text(
            "import os, sys, dlt\nsys.path.append(os.path.join(os.path.dirname(__file__), 'shared'))\n"
            f"@dlt.table\ndef t():\n    import only_{name}\n    return only_{name}.NAME\n"
        )
        registries.append(load_pipeline([tmp_path / name / "pipeline.py"], root=tmp_path / name))
    before = list(sys.path)
    assert [registry.flows[0].function() for registry in registries] == ["one", "two"]
    assert sys.path == before
    assert not any(str(tmp_path) in entry for entry in before)


def test_the_real_pyspark_pipelines_is_put_back(load: Load) -> None:
    import pyspark.pipelines as real

    registry = load(
        "import pyspark.pipelines\nfrom pyspark import pipelines as dp\nfrom pyspark.pipelines import table\n"
        "assert pyspark.pipelines.table is dp.table is table\n@dp.table\n@dp.expect('a', '1')\ndef t(): ...\n"
    )
    assert registry.errors == ()
    import pyspark

    assert pyspark.pipelines is real
    assert sys.modules["pyspark.pipelines"] is real
    assert not hasattr(real, "expect")


def test_a_users_file_does_not_replace_a_library(load: Load) -> None:
    registry = load(
        "import queue, pyspark, mine\nassert queue.SimpleQueue and pyspark.__version__\nassert mine.OK\n",
        **{"queue.py": "", "pyspark/__init__.py": "", "mine.py": "OK = True\n", "pandas/data.csv.py": ""},
    )
    assert registry.errors == ()


def test_functions_run_on_several_threads(load: Load) -> None:
    registry = load(
        "import dlt\n@dlt.table\ndef t():\n    import time, other\n    time.sleep(0.01)\n    import late\n"
        "    return other.X + late.X\n",
        **{"other.py": "X = 1\n", "late.py": "X = 2\n"},
        libraries=["pipeline.py"],
    )
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(registry.flows[0].function())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [3] * 8
    assert "other" not in sys.modules


def test_functions_of_two_pipelines_run_on_several_threads(tmp_path: Path) -> None:
    functions = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "settings.py").write_text(f"NAME = {name!r}\n")
        (tmp_path / name / "pipeline.py").write_text(
            "import dlt\n@dlt.table\ndef t():\n    import time, settings\n    time.sleep(0.002)\n"
            "    from pyspark import pipelines\n    return settings.NAME, pipelines.expect is dlt.expect\n"
        )
        functions.append(load_pipeline([tmp_path / name / "pipeline.py"], root=tmp_path / name).flows[0].function)
    modules, path, finders = set(sys.modules), list(sys.path), list(sys.meta_path)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda call: functions[call % 2](), range(200)))
    assert found == [("one", True), ("two", True)] * 100
    assert not {"settings", "dlt"} & (set(sys.modules) - modules)
    assert (sys.path, sys.meta_path) == (path, finders)


CALLS_OF_HELPERS = (
    ("import helper", "helper.double(21)"),
    ("from helper import double", "double(21)"),
    ("import lib.deep", "lib.deep.double(21)"),
    ("from lib import deep", "deep.double(21)"),
    ("from package import inner", "inner.double(21)"),
    ("own = lambda x: 2 * x", "own(21)"),
)


@pytest.mark.parametrize("all_are_libraries", [True, False])
def test_functions_travel_to_workers_without_the_files(load: Load, all_are_libraries: bool) -> None:
    from pyspark import cloudpickle

    helper = """
        import dlt
        import penstock as ps
        from pyspark.sql import SparkSession
        from pyspark.sql.functions import udf
        from pyspark.sql.types import IntegerType, StructType
        SCHEMA, FACTOR = StructType(), 2
        @udf(IntegerType())
        def wrapped(x): return x
        @dlt.view
        @ps.expect("a", "1")
        def declared(): return spark.table("t")
        def double(x): return FACTOR * x + len(SCHEMA)
        """
    imports = "\n".join(statement for statement, _ in CALLS_OF_HELPERS)
    functions = ", ".join(f"lambda: {call}" for _, call in CALLS_OF_HELPERS)
    registry = load(
        f"import dlt\n{imports}\nfrom pyspark import cloudpickle\n@dlt.table(name='t')\n"
        f"def t():\n    return [cloudpickle.dumps(function) for function in [{functions}]]\n",
        **{
            "helper.py": helper,
            "lib/deep.py": helper.replace("declared", "deep_view"),
            "package/__init__.py": "",
            "package/inner.py": helper.replace("declared", "inner_view"),
        },
        libraries=None if all_are_libraries else ["pipeline.py"],
    )
    assert registry.errors == ()
    sent = registry.flows[0].function()
    program = """
import sys, pickle
for line in sys.stdin:
    print(pickle.loads(bytes.fromhex(line))(), "penstock" in sys.modules)
"""
    lines = "\n".join(message.hex() for message in sent)
    done = subprocess.run(
        [sys.executable, "-c", program], input=lines, capture_output=True, check=True, cwd="/", text=True
    )
    assert done.stdout.splitlines() == ["42 False"] * len(CALLS_OF_HELPERS)
    registered = cloudpickle.list_registry_pickle_by_value()  # type: ignore[no-untyped-call]
    assert not {"pipeline_pipeline", "helper", "lib.deep"} & set(registered)


def test_no_bytecode_is_left_in_the_users_folder(load: Load, tmp_path: Path) -> None:
    load("import helper\n", **{"helper.py": ""})
    assert not list(tmp_path.rglob("__pycache__"))


def test_a_root_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "p.py").write_text("import dlt\ndlt.create_streaming_table('t')\n")
    os.symlink(tmp_path / "real", tmp_path / "link")
    registry = load_pipeline([tmp_path / "real" / "p.py"], root=tmp_path / "link")
    assert str(registry.datasets[0].location) == "p.py:2"


def test_an_expectation_may_be_a_column(load: Load) -> None:
    registry = load("""
        import dlt
        class Column:
            __module__ = "pyspark.sql.column"
            def __eq__(self, other): raise TypeError
            __hash__ = None
        @dlt.table
        @dlt.expect("c", Column())
        @dlt.expect_all({"d": Column()})
        def t(): ...
        """)
    assert registry.errors == ()
    assert len(registry.datasets[0].expectations) == 2


def test_the_command_line_starts_without_spark_or_declarations() -> None:
    program = textwrap.dedent("""
        import sys
        import penstock
        from penstock import cli
        assert "penstock.declare" not in sys.modules
        import penstock.declare
        penstock.table
        assert not [name for name in sys.modules if name.split(".")[0] in {"pyspark", "py4j", "delta"}]
        """)
    subprocess.run([sys.executable, "-c", program], check=True)


def test_errors_raised_by_reads_inside_functions_have_no_load(load: Load) -> None:
    registry = load("import dlt\n@dlt.table\ndef t(): return dlt.read(None)\n")
    with pytest.raises(DefinitionError) as raised:
        registry.flows[0].function()
    assert raised.value.condition == "INVALID_PARAMETER"
