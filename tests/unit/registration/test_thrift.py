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
from penstock.registration.hive.catalog import HiveCatalog, same_place
from penstock.registration.hive.thrift import ProtocolError, Struct, call, read_answer
from penstock.registration.names import name_clashes

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


@contextmanager
def answering(content: bytes) -> Iterator[int]:
    """A server on loopback that answers the first request with `content`, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(content)

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
