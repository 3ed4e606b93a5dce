"""What a directory answers, cut off and damaged: an answer, or an error that the login knows."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing, suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.runtime.serving.ldap import ber
from penstock.runtime.serving.ldap.connection import ENTRY_ITSELF, Connection, Entry, Result

_RESULT = (ber.number(0, ber.ENUMERATED), ber.text(""), ber.text("fine"))
_MEMBER_OF = ber.value(ber.SEQUENCE, ber.text("memberOf"), ber.value(ber.SET, ber.text("cn=a"), ber.text("cn=b")))
_FOUND = ber.value(0x64, ber.text("uid=ada"), ber.value(ber.SEQUENCE, _MEMBER_OF))


def message(operation: bytes) -> bytes:
    return ber.value(ber.SEQUENCE, ber.number(1), operation)


_BOUND = message(ber.value(0x61, *_RESULT))
_SEARCHED = (
    message(_FOUND) + message(ber.value(0x73, ber.text("ldap://elsewhere"))) + message(ber.value(0x65, *_RESULT))
)


def answered(answer: bytes, ask: Callable[[Connection], object]) -> object:
    server, client = socket.socketpair()
    with closing(client), closing(server):
        server.sendall(answer)
        server.shutdown(socket.SHUT_WR)
        return ask(Connection(client, 5))


def bind(connection: Connection) -> Result:
    return connection.bind("uid=ada", "secret")


def search(connection: Connection) -> tuple[list[Entry], Result]:
    return connection.search("uid=ada", ENTRY_ITSELF, b"", ("memberOf",))


def test_whole_answers_are_read() -> None:
    assert answered(_BOUND, bind) == Result(0, "fine")
    assert answered(_SEARCHED, search) == ([Entry("uid=ada", {"memberof": ["cn=a", "cn=b"]})], Result(0, "fine"))


@pytest.mark.parametrize(("answer", "ask"), [(_BOUND, bind), (_SEARCHED, search)], ids=["bind", "search"])
def test_an_answer_that_is_cut_off_is_none(answer: bytes, ask: Callable[[Connection], object]) -> None:
    for end in range(len(answer)):
        with pytest.raises((ValueError, OSError, IndexError)):
            answered(answer[:end], ask)


@given(st.sampled_from([_BOUND, _SEARCHED]), st.integers(0), st.binary(min_size=1, max_size=4))
@example(b"", 0, b"\x30\xff")
def test_a_damaged_answer_raises_nothing_else(answer: bytes, place: int, damage: bytes) -> None:
    at = place % (len(answer) + 1)
    for ask in (bind, search):
        with suppress(ValueError, OSError, IndexError):
            answered(answer[:at] + damage + answer[at + len(damage) :], ask)
