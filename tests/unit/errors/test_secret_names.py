"""Which settings hold secrets: the same words redact them in Spark, and find them in clear text."""

from __future__ import annotations

import re

import pytest

from penstock.errors.secret_names import REDACTED_KEYS, is_secret


@pytest.mark.parametrize(
    "name",
    [
        "db.PASSWORD",
        "ssl.keystore.passwd",
        "fs.s3a.access.key",
        "fs.s3a.session.token",
        "fs.azure.account.key.lake",
        "fs.azure.account.oauth2.client.secret.lake.dfs.core.windows.net",
        "fs.azure.sas.fixed.token.lake.dfs.core.windows.net",
        "fs.azure.encryption.encoded.client-provided-key",
        "kafka.ssl.key.password",
        "spark.authenticate.secret",
        "x.api_key",
        "sas.token",
        "authToken",
        "retries.token",
        "maxPassword",
    ],
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
        "fs.azure.oauth.token.fetch.retry.max.retries",
        "fs.azure.oauth.token.fetch.retry.min.backoff.interval",
        "fs.azure.oauth.token.fetch.retry.delta.backoff",
        "fs.azure.sas.token.renew.period.for.streams",
        "fs.azure.sas.token.provider.type",
        "fs.s3a.delegation.token.binding",
        "delegation.token.max.lifetime.ms",
        "delegation.token.expiry.check.interval.ms",
        "sasl.oauthbearer.token.endpoint.url",
        "spark.security.credentials.renewalRatio",
        "spark.security.credentials.retryWait",
        "spark.kafka.clusters.a.target.bootstrap.token.timeout",
        "dfs.block.access.token.lifetime",
        "tokenLifetime",
        "secret_name",
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
