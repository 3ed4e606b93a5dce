from __future__ import annotations

import pickle

import pytest

from penstock.errors import (
    ConfigError,
    DataError,
    DefinitionError,
    ExternalError,
    InternalError,
    PenstockError,
    PipelineInvalid,
    Retry,
    SourceLocation,
    StateError,
    UpdateRefused,
    condition,
    conditions,
    did_you_mean,
    render,
)

UNKNOWN_KEY = ConfigError(
    "CONFIG_UNKNOWN_KEY",
    location=SourceLocation("penstock.yml", 3),
    key="storag",
    suggestion="Did you mean 'storage'?",
)
BAD_NAME = DefinitionError("INVALID_DATASET_NAME", location=SourceLocation("a.py", 7), dataset="shop.a", name="a..b")


@pytest.mark.parametrize(
    ("kind", "exit_code"),
    [
        (DefinitionError, 2),
        (ConfigError, 2),
        (StateError, 3),
        (DataError, 1),
        (ExternalError, 1),
        (InternalError, 1),
    ],
)
def test_exit_codes(kind: type[PenstockError], exit_code: int) -> None:
    assert kind("INVALID_DATASET_NAME", name="a").exit_code == exit_code


def test_facts_are_kept_as_text() -> None:
    error = ConfigError("CONFIG_DUPLICATE_KEY", key="a", first=3)
    assert error.facts == {"key": "a", "first": "3"}
    assert "3" in error.message


def test_an_empty_fact_at_the_end_leaves_no_white_space() -> None:
    error = ConfigError("CONFIG_UNKNOWN_KEY", key="x", suggestion="")
    assert error.fix == error.fix.strip()


def test_a_fact_that_looks_like_a_placeholder_is_not_filled_again() -> None:
    assert "<suggestion>" in ConfigError("CONFIG_UNKNOWN_KEY", key="<suggestion>", suggestion="s3a").message


def test_a_missing_fact_stays_visible() -> None:
    assert "<key>" in ConfigError("CONFIG_UNKNOWN_KEY").message


def test_an_unknown_condition_is_a_bug_of_the_raiser() -> None:
    with pytest.raises(KeyError):
        DefinitionError("NO_SUCH_CONDITION")


def test_retryable_follows_the_catalogue() -> None:
    for name, entry in conditions().items():
        error = ExternalError(name)
        assert error.retryable is (entry.retry in {Retry.BACKOFF, Retry.OUTAGE})
        assert error.is_outage is (entry.retry is Retry.OUTAGE)


def test_a_service_that_is_away_is_an_outage() -> None:
    away = {name for name, entry in conditions().items() if entry.retry is Retry.OUTAGE}
    assert away == {
        "CATALOG_NOT_REACHABLE",
        "EXECUTORS_LOST_DURING_BATCH",
        "KAFKA_LOST",
        "OBJECT_STORE_CLOCK_SKEWED",
        "OBJECT_STORE_CREDENTIALS_EXPIRED",
        "KAFKA_UNREACHABLE",
        "KINESIS_REQUEST_FAILED",
        "KINESIS_UNREACHABLE",
        "LDAP_UNAVAILABLE",
        "SCHEMA_REGISTRY_UNREACHABLE",
        "SERVICE_UNREACHABLE",
        "STORAGE_FAILED",
    }


@pytest.mark.parametrize("error", [UNKNOWN_KEY, BAD_NAME, StateError("INVALID_DATASET_NAME", name="x")])
def test_pickling_keeps_everything(error: PenstockError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (again.condition, again.location, again.dataset, again.facts) == (
        error.condition,
        error.location,
        error.dataset,
        error.facts,
    )
    assert str(again) == str(error)


def test_pickling_several_errors() -> None:
    again = pickle.loads(pickle.dumps(PipelineInvalid([UNKNOWN_KEY, BAD_NAME], ["shop.b"])))
    assert isinstance(again, PipelineInvalid)
    assert [error.condition for error in again.errors] == ["CONFIG_UNKNOWN_KEY", "INVALID_DATASET_NAME"]
    assert again.downstream == ("shop.b",)
    assert again.facts == PipelineInvalid([UNKNOWN_KEY, BAD_NAME], ["shop.b"]).facts
    assert (again.facts["count"], again.facts["downstream"]) == ("2", "1")
    refused = pickle.loads(pickle.dumps(UpdateRefused([UNKNOWN_KEY, BAD_NAME])))
    assert [error.condition for error in refused.errors] == ["CONFIG_UNKNOWN_KEY", "INVALID_DATASET_NAME"]
    assert (refused.exit_code, again.exit_code) == (3, 2)


def test_the_message_of_several_errors_has_the_first_ones() -> None:
    secret = DefinitionError("QUERY_ANALYSIS_FAILED", detail="x" * 240 + "s3cret")  # which the limit cuts
    whole = PipelineInvalid([BAD_NAME, secret, UNKNOWN_KEY, BAD_NAME])
    whole.redact(lambda text: text.replace("s3cret", "…"))
    first, second, third, rest = whole.message.removeprefix("The pipeline is invalid: ").split("; ")
    assert first.startswith("[INVALID_DATASET_NAME] ")
    assert first.endswith(" (a.py:7)")
    assert second.endswith("x…")
    assert third.startswith("[CONFIG_UNKNOWN_KEY]")
    assert rest == "and 1 other."
    assert "s3" not in f"{whole}{whole.errors[1]}"


def test_json() -> None:
    assert BAD_NAME.to_json() == {
        "condition": "INVALID_DATASET_NAME",
        "message": BAD_NAME.message,
        "fix": BAD_NAME.fix,
        "dataset": "shop.a",
        "file": "a.py",
        "line": 7,
        "column": None,
    }
    assert (DataError("INVALID_DATASET_NAME", name="a").to_json()["file"]) is None


def test_rendering_one_error() -> None:
    entry = condition("INVALID_DATASET_NAME")
    assert render(BAD_NAME) == (
        f"[INVALID_DATASET_NAME] {entry.message.replace('<name>', 'a..b')}\n  at a.py:7 (shop.a)\n  Fix: {entry.fix}"
    )


@pytest.mark.parametrize(
    ("location", "dataset", "place"),
    [
        (None, None, []),
        (None, "shop.a", ["  in shop.a"]),
        (SourceLocation("a.py"), None, ["  at a.py"]),
        (SourceLocation("a.py", 1), "shop.a", ["  at a.py:1 (shop.a)"]),
    ],
)
def test_rendering_the_place(location: SourceLocation | None, dataset: str | None, place: list[str]) -> None:
    error = DefinitionError("INVALID_DATASET_NAME", location=location, dataset=dataset, name="x")
    assert render(error).splitlines()[1:-1] == place


def test_rendering_several_errors() -> None:
    assert render(PipelineInvalid([UNKNOWN_KEY, BAD_NAME], ["shop.b", "shop.c"])) == (
        f"{render(UNKNOWN_KEY)}\n\n{render(BAD_NAME)}\n\n"
        "2 errors; nothing was run and nothing was written."
        " Not checked, because they read a failed dataset: shop.b, shop.c."
    )
    assert render(PipelineInvalid([BAD_NAME])).endswith("1 error; nothing was run and nothing was written.")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Orders_Raw", "Did you mean 'orders_raw' or 'orders'?"),
        ("ordrs", "Did you mean 'orders' or 'orders_raw'?"),
        ("xyz", "Known: two."),
    ],
)
def test_did_you_mean(name: str, expected: str) -> None:
    assert did_you_mean(name, ["orders", "orders_raw"], also="Known: two.") == expected


def test_secrets_are_taken_out_of_facts_and_texts() -> None:
    error = DefinitionError("SQL_CONF_NOT_FOUND", key="my-secret-key")
    together = PipelineInvalid([error])
    together.redact(lambda text: text.replace("secret", "***"))
    assert error.facts == {"key": "my-***-key"}
    assert "secret" not in f"{error} {error.message} {error.fix} {error.to_json()}"
