from __future__ import annotations

import pytest

from penstock.events.redaction import REDACTED, shown_option


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("topic", "orders", "orders"),
        ("Kafka.Bootstrap.Servers", "a:9092,b:9092", "a:9092,b:9092"),
        ("tableName", "lake.orders", "lake.orders"),
        ("path", "s3a://lake/orders", "s3a://lake/orders"),
        ("path", "s3a://key:secret@lake/orders", "s3a://lake/orders"),
        ("path", "abfss://c@account/orders?sig=abc", "abfss://c@account/orders"),
        ("path", "s3a://key:sec/ret@lake/orders", "s3a://lake/orders"),
        ("kafka.sasl.jaas.config", "…Module required password='x';", REDACTED),
        ("password", "hunter2", REDACTED),
        ("url", "jdbc:postgresql://db/shop?user=me&password=hunter2", REDACTED),
        ("anything", "else", REDACTED),
        ("anything", "", REDACTED),
    ],
)
def test_only_places_are_shown(name: str, value: str, shown: str) -> None:
    assert shown_option(name, value) == shown
