"""Which settings hold secrets: the same words redact them in Spark, and find them in clear text."""

from __future__ import annotations

import re

import pytest

from penstock.errors.secret_names import REDACTED_KEYS, is_secret


@pytest.mark.parametrize(
    "name",
    ["db.PASSWORD", "ssl.keystore.passwd", "fs.s3a.access.key", "fs.azure.account.key.lake", "x.api_key", "sas.token"],
)
def test_a_secret_in_clear_text_is_found_and_its_key_redacted(name: str) -> None:
    assert is_secret(name, "hunter2")
    assert re.search(REDACTED_KEYS, name)


@pytest.mark.parametrize("text", ["", "${secret:db}", "<your password>", "{{secrets/shop/db}}", "changeme", "true"])
def test_references_and_placeholders_are_no_secrets(text: str) -> None:
    assert not is_secret("password", text)


@pytest.mark.parametrize(
    "name",
    [
        "fs.s3a.aws.credentials.provider",
        "delegation.token.enabled",
        "ssl.private.key.location",
        "ml.tokenizer",
        "maxTokens",
    ],
)
def test_settings_about_secrets_are_none(name: str) -> None:
    assert not is_secret(name, "words")


def test_a_secret_inside_a_text_is_found_whatever_the_name() -> None:
    plain = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="etl" password="hunter2";'
    assert is_secret("kafka.sasl.jaas.config", plain)
    assert is_secret("note", "Endpoint=sb://x/;SharedAccessKey=hunter2;")
    assert not is_secret("kafka.sasl.jaas.config", "com.sun.security.auth.module.Krb5LoginModule required;")
