"""A pipeline of a Databricks asset bundle: files, targets, references, and which pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.conftest import Project
from tests.unit.config.test_databricks import load_error

from penstock.config import load_project
from penstock.errors import ConfigError

BUNDLE = """\
bundle: {name: shop}
include: [resources/*.yml]
variables:
  schema: {description: Where tables go, default: 'shop_${bundle.target}'}
  source: {default: /Volumes/main/raw}
  clusters: {type: complex, default: [{label: default}]}
  notebooks: {default: ../src}
workspace: {host: https://example.com}
targets:
  dev:
    default: true
    mode: development
    variables: {source: ./data}
  prod:
    variables: {source: {default: "s3a://raw/${workspace.current_user.userName}"}}
    resources:
      pipelines:
        orders:
          continuous: true
          libraries: [{file: {path: ./src/prod.py}}]
          configuration: {more: "1"}
"""
RESOURCE = """\
resources:
  pipelines:
    orders:
      name: ${bundle.name}-orders
      schema: ${var.schema}
      clusters: ${var.clusters}
      configuration: {source: "${var.source}/orders", root: "${workspace.file_path}", host: "${workspace.host}"}
      libraries:
        - notebook: {path: "${var.notebooks}/orders"}
"""


@pytest.fixture
def bundle(project: Project) -> Path:
    folder = project(BUNDLE, "databricks.yml")
    (folder / "resources").mkdir()
    (folder / "src").mkdir()
    (folder / "resources" / "orders.pipeline.yml").write_text(RESOURCE, encoding="utf-8")
    for name in ("orders.ipynb", "prod.py"):
        (folder / "src" / name).write_text("", encoding="utf-8")
    return folder


def test_the_default_target(bundle: Path) -> None:
    config = load_project(bundle)
    root = bundle.resolve()
    assert (config.name, config.schema, config.continuous) == ("shop-orders", "shop_dev", False)
    assert config.configuration == {"source": "./data/orders", "root": str(root), "host": "https://example.com"}
    assert config.storage == str(root / ".penstock" / "dev" / "orders")
    assert config.source_files() == [root / "src" / "orders.ipynb"]
    assert [str(notice.location) for notice in config.notices] == ["orders/resources/orders.pipeline.yml:6"]


def test_another_target(bundle: Path) -> None:
    config = load_project(bundle, environment="prod", environ={"USER": "me", "BUNDLE_VAR_schema": "live"})
    assert (config.schema, config.continuous, config.environment) == ("live", True, "prod")
    assert config.configuration["source"] == "s3a://raw/me/orders"
    assert config.configuration["more"] == "1"
    assert config.storage == str(bundle.resolve() / ".penstock" / "prod" / "orders")
    assert [path.name for path in config.source_files()] == ["orders.ipynb", "prod.py"]


def test_a_penstock_yml_beside_it(bundle: Path, project: Project) -> None:
    project("extends: databricks.yml\npaths: {/Volumes/main/raw: ./data}\nenvironments: {prod: {schema: live}}\n")
    assert load_project(bundle).schema == "shop_dev"
    assert load_project(bundle, environment="prod").schema == "live"
    assert load_project(bundle, environment="dev").paths == {"/Volumes/main/raw": str(bundle.resolve() / "data")}
    assert load_error(bundle, environment="test") == [("CONFIG_UNKNOWN_ENVIRONMENT", "orders/penstock.yml")]


TWO = "resources: {pipelines: {a: {schema: x}, b: {name: bee}}}\n"


def test_which_of_several_pipelines(project: Project) -> None:
    folder = project(TWO, "databricks.yml")
    assert load_error(folder) == [("CONFIG_PIPELINE_NEEDED", "orders/databricks.yml")]
    assert load_project(folder, pipeline="b").name == "bee"
    named_like_its_key = load_project(folder, pipeline="a")
    assert (named_like_its_key.name, named_like_its_key.schema) == ("a", "x")
    assert named_like_its_key.storage == str(folder.resolve() / ".penstock" / "a")
    assert load_error(folder, pipeline="c") == [("CONFIG_UNKNOWN_PIPELINE", "orders/databricks.yml")]
    project("extends: databricks.yml\npipeline: b\n")
    assert load_project(folder).name == "bee"
    assert load_project(folder, pipeline="a").name == "a"


def test_a_resource_file_is_named_instead_of_the_bundle(project: Project) -> None:
    folder = project("resources: {pipelines: {a: {schema: x}}}\n", "a.pipeline.yml")
    assert load_project(folder / "a.pipeline.yml").name == "a"


_NAMED_X = "resources: {pipelines: {a: {name: '${var.x}'}}}\n"


@pytest.mark.parametrize(
    ("text", "condition", "line"),
    [
        ("", "CONFIG_MISSING_KEY", None),
        ("- a\n", "CONFIG_WRONG_TYPE", "1"),
        ("bundle: {name: a}\n", "CONFIG_UNKNOWN_PIPELINE", None),
        ("include: x\nresources: {}\n", "CONFIG_WRONG_TYPE", "1"),
        ("resources:\n  pipelines: {a: 1}\n", "CONFIG_WRONG_TYPE", "2"),
        ("resources:\n  pipelines: [a]\n", "CONFIG_WRONG_TYPE", "2"),
        ("targets: {a: {}, b: {}}\nresources: {pipelines: {a: {}}}\n", "CONFIG_TARGET_NEEDED", None),
        ("resources:\n  pipelines:\n    a:\n      name: ${var.x}\n", "CONFIG_REFERENCE_UNRESOLVED", "4"),
        ("variables: {x: {}}\nresources: {pipelines: {a: {name: '${var.x}'}}}\n", "CONFIG_REFERENCE_UNRESOLVED", "2"),
        (
            "variables: {x: {default: '${var.x}'}}\nresources: {pipelines: {a: {name: '${var.x}'}}}\n",
            "CONFIG_REFERENCE_UNRESOLVED",
            "1",
        ),
        (
            "variables: {x: {value: '${var.y}'}, y: {value: 'a${var.z}'}, z: {value: '${var.x}'}}\n" + _NAMED_X,
            "CONFIG_REFERENCE_UNRESOLVED",
            "1",
        ),
        ("resources:\n  pipelines: {a: {name: 'x${resources.pipelines}'}}\n", "CONFIG_REFERENCE_UNRESOLVED", "2"),
        ("resources:\n  pipelines: {a: {name: '${workspace.host}'}}\n", "CONFIG_REFERENCE_UNRESOLVED", "2"),
        ("resources: {pipelines: {a: {libraries: &l [*l]}}}\n", "CONFIG_SYNTAX", "1"),
    ],
)
def test_mistakes(project: Project, text: str, condition: str, line: str | None) -> None:
    place = "orders/databricks.yml" + (f":{line}" if line else "")
    assert load_error(project(text, "databricks.yml")) == [(condition, place)]


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("file: {path: '../src/or*.py'}", ["orders_2.py", "orders_3.py"]),  # relative to the file that it stands in
        ("file: {path: './src/pr*'}", ["prod.py"]),  # older bundles: to the bundle
        ("notebook: {path: '../src/*.ipynb'}", ["orders.ipynb"]),
        ("notebook: {path: '../src/orders_?.py'}", ["orders_2.py", "orders_3.py"]),
    ],
)
def test_patterns_of_library_paths_are_expanded(bundle: Path, library: str, expected: list[str]) -> None:
    for name in ("orders_2.py", "orders_3.py"):
        (bundle / "src" / name).write_text("", encoding="utf-8")
    resource = bundle / "resources" / "orders.pipeline.yml"
    text = resource.read_text(encoding="utf-8").replace('notebook: {path: "${var.notebooks}/orders"}', library)
    resource.write_text(text, encoding="utf-8")
    assert [file.name for file in load_project(bundle).source_files()] == expected


def test_bundle_that_includes_itself_is_read_once(bundle: Path) -> None:
    (bundle / "databricks.yml").write_text(BUNDLE.replace("resources/*.yml", "'**/*.yml'"), encoding="utf-8")
    assert [file.name for file in load_project(bundle).source_files()] == ["orders.ipynb"]


def test_a_mistake_in_an_included_file(bundle: Path) -> None:
    (bundle / "resources" / "more.yml").write_text("resources:\n  pipelines: {orders: {continuous: 1}}\n")
    assert load_error(bundle) == [("CONFIG_WRONG_TYPE", "orders/resources/more.yml:2")]


@pytest.mark.parametrize(("include", "expected"), [("a.yml", "a list"), ("[{}]", "a list of texts")])
def test_include_of_a_bundle_is_a_list_of_texts(project: Project, include: str, expected: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_project(project(f"bundle: {{name: a}}\ninclude: {include}\n", "databricks.yml"))
    assert (raised.value.condition, str(raised.value.location)) == ("CONFIG_WRONG_TYPE", "orders/databricks.yml:2")
    assert (raised.value.facts["key"], raised.value.facts["expected"]) == ("include", expected)
