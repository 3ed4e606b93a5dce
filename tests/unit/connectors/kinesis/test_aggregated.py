"""Aggregated records of Amazon's producer library."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.kinesis.records import user_records

ALL = (0, 2**128 - 1)


def packed(message: bytes) -> bytes:
    return b"\xf3\x89\x9a\xc2" + message + hashlib.md5(message).digest()


# One key "k", one explicit hash key "5", and a record "data" under both.
ONE = b"\x0a\x01k" + b"\x12\x015" + b"\x1a\x0a\x08\x00\x10\x00\x1a\x04data"


def test_a_record_with_an_explicit_hash_key() -> None:
    assert user_records("other", packed(ONE), *ALL) == [("k", b"data")]


@pytest.mark.parametrize("shard", [(0, 4), (6, 2**128 - 1)])
def test_a_record_in_a_shard_of_other_keys_is_sent_again_by_its_producer(shard: tuple[int, int]) -> None:
    assert user_records("other", packed(ONE), *shard) == []


def test_without_an_explicit_hash_key_the_sum_of_the_key_counts() -> None:
    message = b"\x0a\x01k" + b"\x1a\x08\x08\x00\x1a\x04data"
    number = int(hashlib.md5(b"k").hexdigest(), 16)
    assert user_records("other", packed(message), number, number) == [("k", b"data")]
    assert user_records("other", packed(message), number + 1, ALL[1]) == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xf3\x89\x9a\xc2",
        packed(ONE)[:-1] + b"?",
        packed(b"\x1a\x02\x08\x07"),  # a key that there is not
        packed(b"\x1a\x06\x1a\x04data"),  # without a key
        packed(b"\x0a\x09k"),  # cut
        packed(b"\x08\x01"),  # a number where there are keys
    ],
)
def test_what_only_looks_like_one_is_a_record_like_any_other(data: bytes) -> None:
    assert user_records("key", data, *ALL) == [("key", data)]


@given(st.binary(max_size=60))
def test_nothing_that_is_packed_fails(message: bytes) -> None:
    found = user_records("key", packed(message), *ALL)
    assert found == [("key", packed(message))] or all(isinstance(data, bytes) for _, data in found)
