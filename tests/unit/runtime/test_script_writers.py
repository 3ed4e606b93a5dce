"""What a script's write becomes before Spark gets it."""

from __future__ import annotations

from typing import Any, cast

from penstock.errors import SourceLocation
from penstock.runtime.script.reads import ScriptReads
from penstock.runtime.script.stream_write import StreamWrite
from penstock.runtime.script.writers import prepared
from penstock.storage import StorageLayout

_LOGIN = 'kafkashaded.org.apache.x required password="${secret:login}";'


def test_secrets_are_filled_in_and_classes_have_their_own_names() -> None:
    reads = ScriptReads("app", StorageLayout("/nowhere"), {"login": 'a"b'}.__getitem__)
    nothing = cast("Any", object())  # rows of a continuous query are not counted, so that nobody looks at it
    write = StreamWrite(
        frame=nothing,
        location=SourceLocation("app.py"),
        format="Kafka",
        options={"topic": "orders", "kafka.sasl.jaas.config": _LOGIN},
        trigger={"continuous": "1 second"},
    )
    found = prepared(write, reads)
    assert found.write.options == {
        "topic": "orders",
        "kafka.sasl.jaas.config": 'org.apache.x required password="a\\"b";',
    }
    assert "password" not in repr(found.write)
