from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.conftest import Project, errors_of, only

from penstock.config import load_project
from penstock.errors import ConfigError, PenstockError, PipelineInvalid, SourceLocation

CASES: list[tuple[str, str, int | None, dict[str, str]]] = [
    (
        "name: o\nstorag: x\n",
        "CONFIG_UNKNOWN_KEY",
        2,
        {"key": "storag", "suggestion": "Did you mean 'storage' or 'storage_access'?"},
    ),
    ("name: o\nretries:\n  first_dely: 1 second\n", "CONFIG_UNKNOWN_KEY", 3, {"key": "retries.first_dely"}),
    ("name: o\nenvironments:\n  prod:\n    storge: x\n", "CONFIG_UNKNOWN_KEY", 4, {"key": "environments.prod.storge"}),
    (
        "name: o\nenvironments:\n  prod:\n    environments: {}\n",
        "CONFIG_UNKNOWN_KEY",
        4,
        {"key": "environments.prod.environments"},
    ),
    ("name: o\nlibraries:\n  - glub: {}\n", "CONFIG_UNKNOWN_KEY", 3, {"key": "libraries[0].glub"}),
    ("name: 12\n", "CONFIG_WRONG_TYPE", 1, {"key": "name", "expected": "text", "found": "a number"}),
    ("name:\n", "CONFIG_WRONG_TYPE", 1, {"key": "name", "found": "nothing"}),
    (
        "name: o\ncontinuous: 'true'\n",
        "CONFIG_WRONG_TYPE",
        2,
        {"key": "continuous", "expected": "true or false", "found": "text"},
    ),
    ("name: o\nconfiguration: [a]\n", "CONFIG_WRONG_TYPE", 2, {"key": "configuration", "found": "a list"}),
    ("name: o\nconfiguration:\n  a: {}\n", "CONFIG_WRONG_TYPE", 3, {"key": "configuration.a", "found": "a mapping"}),
    ("name: o\nconfiguration:\n  a:\n", "CONFIG_WRONG_TYPE", 3, {"key": "configuration.a", "found": "nothing"}),
    ("name: o\nlibraries: a/**\n", "CONFIG_WRONG_TYPE", 2, {"key": "libraries", "expected": "a list"}),
    ("name: o\nlibraries: [a/**]\n", "CONFIG_WRONG_TYPE", 2, {"key": "libraries[0]", "found": "text"}),
    ("name: o\nretries: {max_flow_retries: -1}\n", "CONFIG_WRONG_TYPE", 2, {"key": "retries.max_flow_retries"}),
    ("name: o\nretries: {max_flow_retries: 1.5}\n", "CONFIG_WRONG_TYPE", 2, {"key": "retries.max_flow_retries"}),
    ("name: o\nenvironments: [prod]\n", "CONFIG_WRONG_TYPE", 2, {"key": "environments"}),
    ("name: o\nenvironments: {prod: yes}\n", "CONFIG_WRONG_TYPE", 2, {"key": "environments.prod"}),
    ("name: o\ntrigger: 10\n", "CONFIG_WRONG_TYPE", 2, {"key": "trigger", "expected": "a trigger"}),
    ("name: o\ntrigger: {real_time: 1}\n", "CONFIG_WRONG_TYPE", 2, {"key": "trigger.real_time"}),
    ("name: o\ntrigger: {continuous: 1 second}\n", "CONFIG_TRIGGER_CONTINUOUS", 2, {}),
    ("- name\n", "CONFIG_WRONG_TYPE", 1, {"key": "the file", "found": "a list"}),
    ("name: o\nschema: !!python/name:os.system x\n", "CONFIG_WRONG_TYPE", 2, {"found": "a value with a tag"}),
    ("", "CONFIG_MISSING_KEY", 1, {"key": "name", "example": "name: orders"}),
    ("schema: shop\n", "CONFIG_MISSING_KEY", 1, {"key": "name"}),
    ("name: o\nlibraries: [{}]\n", "CONFIG_MISSING_KEY", 2, {"key": "libraries[0].glob"}),
    ("name: o\nlibraries: [{glob: {}}]\n", "CONFIG_MISSING_KEY", 2, {"key": "libraries[0].glob.include"}),
    (
        "name: o\nschema: a\ntarget: b\n",
        "CONFIG_CONFLICTING_KEYS",
        3,
        {"first": "schema", "second": "target"},
    ),
    (
        "name: o\nlibraries: [{glob: {include: a}, file: {path: b}}]\n",
        "CONFIG_CONFLICTING_KEYS",
        2,
        {"first": "libraries[0].glob", "second": "libraries[0].file"},
    ),
    ("name: o\nschema: a\nschema: b\n", "CONFIG_DUPLICATE_KEY", 3, {"key": "schema", "first": "2"}),
    ("name: o\nconfiguration:\n  a: 1\n  a: 2\n", "CONFIG_DUPLICATE_KEY", 4, {"key": "a", "first": "3"}),
    ("name: ''\n", "CONFIG_INVALID_VALUE", 1, {"key": "name", "value": ""}),
    ("name: o\nschema: main.shop\n", "CONFIG_INVALID_VALUE", 2, {"key": "schema", "value": "main.shop"}),
    ("name: o\nmaster: spak://x:1\n", "CONFIG_INVALID_VALUE", 2, {"key": "master", "value": "spak://x:1"}),
    (
        "name: o\ntrigger: availible_now\n",
        "CONFIG_INVALID_TRIGGER",
        2,
        {"trigger": "availible_now", "suggestion": "Did you mean 'available_now'?"},
    ),
    ("name: o\ntrigger: 10s\n", "CONFIG_INVALID_TRIGGER", 2, {"suggestion": "Did you mean '10 seconds'?"}),
    ("name: o\ntrigger: {available_now: 1 second}\n", "CONFIG_INVALID_TRIGGER", 2, {"trigger": "available_now"}),
    ("name: o\nretries: {first_delay: soon}\n", "INVALID_INTERVAL", 2, {"interval": "soon"}),
    (
        "name: o\nmetrics:\n  otlp: {endpoint: http://h/v1, interval: 0 seconds}\n",
        "CONFIG_INVALID_VALUE",
        3,
        {"key": "metrics.otlp.interval", "value": "0 seconds", "expected": "at least '1 second'"},
    ),
    ("name: o\nsecrets: {p: hunter2}\n", "CONFIG_SECRET_LITERAL", 2, {"secret": "p"}),
    ("name: o\nenvironments: {e: {secrets: {p: 7}}}\n", "CONFIG_SECRET_LITERAL", 2, {"secret": "p"}),
    ('name: o\nstorage: "${env:X}"\n', "CONFIG_REFERENCE_REFUSED", 2, {"key": "storage"}),
    ('name: o\nconfiguration: {p: "x${secret:y}"}\n', "CONFIG_REFERENCE_REFUSED", 2, {"key": "configuration.p"}),
    (
        'name: o\nsecrets: {token: "${env:T}"}\nspark_conf:\n  a.b: "${secret:tokn}"\n',
        "CONFIG_UNKNOWN_SECRET",
        4,
        {"key": "spark_conf.a.b", "secret": "tokn", "suggestion": "Did you mean 'token'?"},
    ),
    ("name: o\nlibraries: [a\nschema: b\n", "CONFIG_SYNTAX", 3, {}),
    ("name: o\nconfiguration:\n\ta: b\n", "CONFIG_SYNTAX", 3, {}),
    ("name: o\nsecrets: {p: ${env:P}}\n", "CONFIG_SYNTAX", 2, {}),
    ("name: o\n---\nname: p\n", "CONFIG_SYNTAX", 2, {}),
    ("name: o\nconfiguration: {? [a] : b}\n", "CONFIG_SYNTAX", 2, {"problem": "a key must be a text"}),
    ("name: o\nconfiguration: &a\n  <<: *a\n", "CONFIG_SYNTAX", 2, {"problem": "an alias leads back to itself"}),
    ("name: o\na: " + "[" * 1000, "CONFIG_SYNTAX", None, {"problem": "it is nested too deeply"}),
    ("name: o\nschema: a\0b\n", "CONFIG_SYNTAX", 2, {}),
]


@pytest.mark.parametrize(
    ("text", "condition", "line", "facts"), CASES, ids=[f"{c[1]}-{i}" for i, c in enumerate(CASES)]
)
def test_refused_with_line_and_facts(
    project: Project, text: str, condition: str, line: int | None, facts: dict[str, str]
) -> None:
    folder = project("")
    (folder / "penstock.yml").write_text(text, encoding="utf-8")
    with pytest.raises(PenstockError) as raised:
        load_project(folder)
    error = only(raised.value)
    assert error.condition == condition
    assert error.location == SourceLocation("orders/penstock.yml", line)
    assert facts.items() <= error.facts.items()


def test_everything_wrong_in_a_file_is_reported_at_once_by_line(project: Project) -> None:
    folder = project(
        """\
        nam: orders
        schema: 3
        environments:
          prod:
            trigger: never
            spark_conf: {a: "${secret:x}"}
        configuration: {a: [1]}
        """
    )
    with pytest.raises(PipelineInvalid) as raised:
        load_project(folder, environment="pord")
    assert raised.value.exit_code == 2
    found = errors_of(raised.value)
    assert all(isinstance(error, ConfigError) for error in found)
    assert [(error.condition, error.location.line if error.location else 0) for error in found] == [
        ("CONFIG_UNKNOWN_ENVIRONMENT", None),
        ("CONFIG_UNKNOWN_KEY", 1),
        ("CONFIG_MISSING_KEY", 1),
        ("CONFIG_WRONG_TYPE", 2),
        ("CONFIG_INVALID_TRIGGER", 5),
        ("CONFIG_UNKNOWN_SECRET", 6),
        ("CONFIG_WRONG_TYPE", 7),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "name: o\nsecrets: {p: S3cretS3cret}\n",
        "name: o\nsecrets: {p: *S3cretS3cret}\n",
        "name: o\nsecrets: {p: !S3cretS3cret!x y}\n",
        "name: o\nsecrets: {p: &S3cretS3cret [S3cretS3cret]}\n",
        'name: o\nsecrets: {p: "S3cretS3cret\\q"}\n',
        "name: o\nsecrets: {p: @S3cretS3cret}\n",
        "name: o\nsecrets: S3cretS3cret\n",
        "name: o\nsecrets: {p: [S3cretS3cret]}\n",
        "name: o\nsecrets: {p: ${env:A}S3cretS3cret}\n",
        "name: o\nsecrets:\n  p: ${env:A}S3cretS3cret\n",
    ],
)
def test_no_error_repeats_what_may_be_a_secret(project: Project, text: str) -> None:
    with pytest.raises(PenstockError) as raised:
        load_project(project(text))
    shown = [str(raised.value), repr(raised.value.facts), raised.value.fix, repr(raised.value.to_json())]
    for error in errors_of(raised.value):
        shown += [str(error), error.fix, repr(error.facts)]
    assert not any("S3cret" in line for line in shown)


def test_unknown_environment(project: Project) -> None:
    folder = project("name: o\nenvironments: {prod: {}, test: {}}\n")
    with pytest.raises(ConfigError) as raised:
        load_project(folder, environment="prd")
    assert raised.value.condition == "CONFIG_UNKNOWN_ENVIRONMENT"
    assert raised.value.facts == {"environment": "prd", "suggestion": "Did you mean 'prod'?"}


@pytest.mark.parametrize(
    ("declared", "suggestion"),
    [("{prod: {}, test: {}}", "Known: prod, test."), ("{}", "orders/penstock.yml declares none.")],
)
def test_unknown_environment_that_resembles_none_names_all(project: Project, declared: str, suggestion: str) -> None:
    folder = project(f"name: o\nenvironments: {declared}\n")
    with pytest.raises(ConfigError) as raised:
        load_project(folder, environment="staging-west")
    assert raised.value.facts["suggestion"] == suggestion


def test_keys_of_penstock_yml_in_spark_pipeline_yml(project: Project) -> None:
    folder = project("name: o\nstorage: x\ntrigger: once\n", "spark-pipeline.yml")
    with pytest.raises(ConfigError) as raised:
        load_project(folder)
    error = raised.value
    assert (error.condition, error.facts["key"]) == ("CONFIG_UNKNOWN_KEY", "trigger")
    assert error.location == SourceLocation("orders/spark-pipeline.yml", 3)
    assert "penstock.yml" in error.facts["suggestion"]


class TestNotFound:
    def test_missing_folder(self, project: Project) -> None:
        project("name: orders\n")
        error = self._refused("ordes")
        assert error.facts["path"] == "ordes"
        assert error.facts["suggestion"] == "Did you mean 'orders'?"

    def test_folder_without_a_pipeline_names_the_one_above(self, project: Project) -> None:
        folder = project("name: orders\n")
        (folder / "transformations").mkdir()
        assert "'orders'" in self._refused("orders/transformations").facts["suggestion"]

    def test_folder_without_a_pipeline_names_the_one_below(self, project: Project) -> None:
        project("name: orders\n")
        assert "'orders'" in self._refused(".").facts["suggestion"]

    def test_another_kind_of_file(self, project: Project) -> None:
        folder = project("print()", "app.py")
        assert self._refused(folder / "app.py").facts["path"] == "orders/app.py"

    def _refused(self, path: Path | str) -> ConfigError:
        with pytest.raises(ConfigError) as raised:
            load_project(path)
        assert raised.value.condition == "PIPELINE_NOT_FOUND"
        return only(raised.value)


def test_two_pipeline_files(project: Project) -> None:
    project("name: a\n")
    folder = project("name: b\n", "penstock.yaml")
    with pytest.raises(ConfigError) as raised:
        load_project(folder)
    assert raised.value.condition == "CONFIG_AMBIGUOUS_FILE"
    assert raised.value.facts == {"first": "orders/penstock.yml", "second": "orders/penstock.yaml"}


def test_unreadable_files(project: Project) -> None:
    folder = project("name: o\n")
    (folder / "penstock.yml").write_bytes(b"name: o\nschema: \xff\xfe\n")
    with pytest.raises(ConfigError) as raised:
        load_project(folder)
    assert raised.value.condition == "CONFIG_UNREADABLE"
    assert raised.value.location == SourceLocation("orders/penstock.yml", 2)
    (folder / "penstock.yml").unlink()
    (folder / "penstock.yml").mkdir()
    with pytest.raises(ConfigError) as raised:
        load_project(folder)
    assert raised.value.condition == "CONFIG_UNREADABLE"
    assert raised.value.facts == {"path": "orders/penstock.yml", "reason": "it is a folder, not a file"}


def test_a_path_that_no_system_accepts(project: Project) -> None:
    project("name: o\n")
    with pytest.raises(ConfigError) as raised:
        load_project("x" * 5000)
    assert raised.value.condition == "CONFIG_UNREADABLE"
