"""The binary protocol of Thrift, and answers of a server that is no metastore."""

from __future__ import annotations

import io
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config import HiveMetastore
from penstock.errors import ExternalError
from penstock.graph.identifier import Identifier
from penstock.graph.schema.table_schema import Schema
from penstock.registration.catalog import Action, Change
from penstock.registration.entry import same_place
from penstock.registration.hive.catalog import HiveCatalog
from penstock.registration.hive.thrift import ProtocolError, Struct, call, read_answer
from penstock.registration.names import name_clashes
from penstock.registration.table import Owner, TableRegistration

SCHEMA = Schema('{"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": true, "metadata": {}}]}')
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**31), 2**31 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.dictionaries(st.integers(1, 2**15 - 1), inner, max_size=4).map(Struct)
        | st.lists(st.text(), max_size=3)
        | st.dictionaries(st.text(), st.text(), max_size=3)
    ),
    max_leaves=12,
)


def reader(content: bytes) -> object:
    stream = io.BytesIO(content)

    def read(length: int) -> bytes:
        found = stream.read(length)
        if len(found) < length:
            raise ConnectionError("the server closed the connection")
        return found

    return read


@given(st.dictionaries(st.integers(1, 2**15 - 1), VALUES, max_size=5).map(Struct))
def test_what_is_written_is_read_as_the_same(arguments: Struct) -> None:
    assert read_answer(reader(call("get_table", arguments, 7))) == arguments  # type: ignore[arg-type]


@given(st.binary(max_size=80))
def test_any_answer_is_read_or_refused(content: bytes) -> None:
    for answer in (content, struct.pack(">I", 0x80010002) + content):
        try:
            read_answer(reader(answer))  # type: ignore[arg-type]
        except (ProtocolError, ConnectionError):
            continue


def answer_of(result: Struct) -> bytes:
    """The message in which a server returns the result of a call."""
    return struct.pack(">I", 0x80010002) + call("get_table", result, 1)[4:]


def field(number: int, kind: int, content: bytes) -> bytes:
    return struct.pack(">IiiBH", 0x80010002, 0, 1, kind, number) + content + b"\x00"


NOTHING = answer_of(Struct())
ODD = {
    "a struct as the key of a map": field(0, 13, struct.pack(">bbi", 12, 11, 1) + b"\x00" + struct.pack(">i", 0)),
    "a set of maps": field(0, 14, struct.pack(">bi", 13, 1) + struct.pack(">bbi", 11, 11, 0)),
    "structs without end": struct.pack(">Iii", 0x80010002, 0, 1) + b"\x0c\x00\x00" * 5000,
    "a list of negative length": field(0, 15, struct.pack(">bi", 11, -1)),
    "a table that is a text": answer_of(Struct({0: "orders"})),
    "a table of other fields": answer_of(Struct({0: Struct({7: "storage", 9: [1, 2]})})),
    "parameters that are no texts": answer_of(Struct({0: Struct({9: {"penstock.pipeline": 5}})})),
    "parameters that are a struct": answer_of(Struct({0: Struct({9: Struct({1: "a"})})})),
}


@pytest.mark.parametrize("content", ODD.values(), ids=ODD)
def test_an_answer_that_no_metastore_gives_is_a_condition(content: bytes) -> None:
    with answering(NOTHING, content) as port:
        catalog = HiveCatalog(HiveMetastore("warehouse", (("127.0.0.1", port),)), None)
        with pytest.raises(ExternalError) as raised, catalog.connect() as session:
            session.deactivate(Identifier("a", "b"), Owner("orders", "s"))
    assert raised.value.condition == "CATALOG_NOT_REACHABLE"


def test_a_skewed_table_and_texts_in_other_encodings_are_written_as_they_were_read() -> None:
    by_values = {("2026", "a"): "/lake/skewed"}  # skewedColValueLocationMaps, by lists of values
    skewed = Struct({7: Struct({11: Struct({1: ["day"], 3: by_values})}), 9: {"comment": "caf\udce9"}})
    content = call("alter_table", skewed, 7)
    assert b"caf\xe9" in content
    assert read_answer(reader(content)) == skewed  # type: ignore[arg-type]


def test_an_entry_without_storage_is_corrected() -> None:
    """Another program may leave out whatever Thrift lets it."""
    entry = answer_of(
        Struct({0: Struct({9: {"penstock.pipeline": "orders", "penstock.storage": "s", "a": "b\udce9"}})})
    )
    table = TableRegistration(Identifier("a", "b"), "/lake/b", SCHEMA, None, Owner("orders", "s"), {"a": "b"})
    with answering(NOTHING, entry, entry, NOTHING) as port:
        catalog = HiveCatalog(HiveMetastore("warehouse", (("127.0.0.1", port),)), None)
        with catalog.connect() as session:
            found = session.differences(table)
            assert {"location None", "column id is missing", "a=b\ufffd"} <= set(found)
            assert session.register(table) == Change(Action.UPDATED, found)


@contextmanager
def answering(*answers: bytes) -> Iterator[int]:
    """A server on loopback that answers one request with each of `answers`, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                for answer in answers:
                    connection.recv(100_000)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(10)


@pytest.mark.parametrize(
    "content",
    [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", struct.pack(">Ii", 0x80010002, -5), b"\x80\x01\x00\x02"],
    ids=["nothing", "a web server", "a text of negative length", "the beginning of an answer"],
)
def test_a_server_that_is_no_metastore_is_a_condition(content: bytes) -> None:
    with answering(content) as port:
        catalog = HiveCatalog(HiveMetastore("warehouse", (("127.0.0.1", port),)), None)
        with pytest.raises(ExternalError) as raised, catalog.connect() as session:
            session.remove(Identifier("a", "b"), None)  # type: ignore[arg-type]
    assert (raised.value.condition, raised.value.facts["catalog"]) == ("CATALOG_NOT_REACHABLE", "warehouse")


def test_names_that_a_catalog_cannot_tell_apart_are_refused_both() -> None:
    datasets = [Identifier("sales", "orders"), Identifier("sales", "Orders", "raw"), Identifier("sales", "other")]
    flat = HiveCatalog(HiveMetastore("warehouse", ()), "main")
    clashes = name_clashes(flat, datasets)
    assert set(clashes) == set(datasets[:2])
    assert {error.condition for error in clashes.values()} == {"REGISTRATION_NAME_CLASH"}
    deep = HiveCatalog(HiveMetastore("warehouse", (), "{catalog}_{schema}"), "main")
    assert name_clashes(deep, datasets) == {}
    assert [deep.name_of(each) for each in datasets] == ["main_sales.orders", "raw_sales.orders", "main_sales.other"]


def test_one_place_has_several_spellings() -> None:
    assert same_place("file:///lake/orders/", "/lake/orders")
    assert same_place("file:/lake/orders", "/lake/orders")
    assert not same_place("/lake/orders2", "/lake/orders")
    assert not same_place(None, "/lake/orders")
