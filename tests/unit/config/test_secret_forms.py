"""A secret is found in every form in which programs write it."""

from __future__ import annotations

import base64
import html
import json
import re
from urllib.parse import quote, quote_plus, urlencode

import pytest

from penstock.config.values.secret import pattern_of

SECRETS = (
    "hunter2!",
    'p4ss/"word+ü=?',
    "a b\tc&<d>'e\nlast",
    "x" * 7,
    "ends in ~~",
    "-----BEGIN KEY-----\nMII+/x==\n-----END",
)


def hidden(text: str, secret: str) -> str:
    return re.sub(pattern_of([secret]), "***", text)


@pytest.mark.parametrize("secret", SECRETS)
def test_it_is_found_escaped_and_encoded(secret: str) -> None:
    in_lower_case = re.sub("%..", lambda found: found.group(0).lower(), quote(secret, safe=""))
    for form in (
        secret, quote(secret), quote(secret, safe=""), quote_plus(secret), in_lower_case, json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1], html.escape(secret),
    ):  # fmt: skip
        assert hidden(f"a [{form}] b", secret) == "a [***] b", form
    assert hidden(urlencode({"token": secret}), secret) == "token=***"


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("before", ["", "u", "us", "user:", "someone@example.org:"])
@pytest.mark.parametrize("after", ["", "@", "\n", ":more of it"])
def test_it_is_found_in_base64_whatever_stands_beside_it(secret: str, before: str, after: str) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        told = encode(f"{before}{secret}{after}".encode()).decode()
        left = hidden(told, secret)
        assert "***" in left
        assert len(left) <= len(told) - len(secret) + 4


@pytest.mark.parametrize(("secret", "found"), [("sixby!", True), ("five!", False)])
def test_secret_of_few_bytes_is_not_looked_for_in_base64(secret: str, found: bool) -> None:
    told = base64.b64encode(f"user:{secret}".encode()).decode()
    assert ("***" in hidden(told, secret)) is found


def test_secret_that_is_no_text_is_found_as_well() -> None:
    secret = "no t\udcffxt"
    assert hidden(f"[{secret}]", secret) == "[***]"
    assert hidden(quote_plus(secret, errors="replace"), secret) == "***"


def test_other_text_is_left_alone() -> None:
    text = "a short word, an aXVzZXI= and 100% of hunters"
    assert hidden(text, "hunter2!") == text
    assert hidden("one two", "x") == "one two"
    assert pattern_of([]) == pattern_of([""]) == ""


def test_a_longer_secret_is_hidden_before_one_that_it_contains() -> None:
    assert re.sub(pattern_of(["abcdefg", "abcdefghij"]), "***", "abcdefghij") == "***"
