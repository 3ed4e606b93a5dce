"""DNs and filters of a directory, as they are compared and sent."""

from __future__ import annotations

import pytest

from penstock.runtime.serving.ldap.filters import encoded
from penstock.runtime.serving.ldap.names import escaped, parsed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cn=Analysts,ou=Groups,dc=example,dc=com", "CN=analysts, OU=groups , DC=Example,DC=COM"),
        (r"cn=a\, b,dc=x", r"cn=a\2C b,dc=x"),
        (r"cn=k\c3\b6ln,dc=x", "cn=KÖLN,dc=x"),
        ("cn=a+ou=b,dc=x", "ou=b + cn=a,dc=x"),
        ("cn=two  words,dc=x", "cn=two words,dc=x"),
        (r"cn=a=b,dc=x", r"cn=a\=b,dc=x"),
    ],
)
def test_equal_names_are_equal_however_they_are_written(one: str, other: str) -> None:
    assert parsed(one) == parsed(other)


@pytest.mark.parametrize(
    ("one", "other"), [("cn=a,dc=x", "cn=a,ou=b,dc=x"), ("cn=a,dc=x", "ou=a,dc=x"), (r"cn=a\,dc=x", "cn=a,dc=x")]
)
def test_other_names_differ(one: str, other: str) -> None:
    assert parsed(one) != parsed(other)


@pytest.mark.parametrize("text", ["", "analysts", "cn=a,,dc=x", "=a", "cn=a,"])
def test_what_is_no_name_raises(text: str) -> None:
    with pytest.raises(ValueError, match="is no DN"):
        parsed(text)


@pytest.mark.parametrize("user", ["a,b", "a+b=c", "köln", '"a" <b>; #1', "a\\b", "a*)(b"])
def test_an_escaped_user_is_one_value(user: str) -> None:
    [part, _] = parsed(f"uid={escaped(user)},dc=x")
    assert part == {("uid", user.casefold())}


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("(objectClass=*)", b"\x87\x0bobjectClass"),
        ("(a={dn})", b"\xa3\x07\x04\x01a\x04\x02*)"),
        (r"(a=\2a{dn})", b"\xa3\x08\x04\x01a\x04\x03**)"),
        ("(&(a=b)(!(c=d)))", b"\xa0\x12\xa3\x06\x04\x01a\x04\x01b\xa2\x08\xa3\x06\x04\x01c\x04\x01d"),
        ("(|(a=b)(c=d))", b"\xa1\x10\xa3\x06\x04\x01a\x04\x01b\xa3\x06\x04\x01c\x04\x01d"),
        ("(m:1.2:={dn})", b"\xa9\x0c\x81\x031.2\x82\x01m\x83\x02*)"),
        ("(m:dn:=x)", b"\xa9\x09\x82\x01m\x83\x01x\x84\x01\xff"),
    ],
)
def test_filters_are_sent_as_the_standard_says(text: str, sent: bytes) -> None:
    assert encoded(text, {"dn": "*)"}) == sent


@pytest.mark.parametrize(
    "text",
    ["", "a=b", "(a=b", "(a=b))", "(a=b*)", "(a>=b)", "(&)", "(!(a=b)(c=d))", "(a={x})", "(a:=b)", "(=b)", "((a=b))"],
)
def test_other_filters_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        encoded(text, {"dn": "x"})
