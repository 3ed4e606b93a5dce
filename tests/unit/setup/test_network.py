from __future__ import annotations

import hashlib
import struct

import pytest

from penstock.errors import ConfigError
from penstock.spark.session.setup.ivy import PASSWORD, _settings, java_key_store, proxy_options, without_password


def test_no_proxy_no_options() -> None:
    assert proxy_options({"NO_PROXY": "internal"}) == []


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy"])
def test_proxy(name: str) -> None:
    assert proxy_options({name: "http://proxy.test:3128"}) == ["-Dhttps.proxyHost=proxy.test", "-Dhttps.proxyPort=3128"]


def test_proxy_with_a_password_and_exceptions() -> None:
    options = proxy_options({"HTTPS_PROXY": "http://me:p%40ss@proxy.test", "NO_PROXY": ".corp.test, maven.test"})
    assert "-Dhttps.proxyPort=80" in options
    assert "-Dhttp.proxyUser=me" in options
    assert "-Dhttp.proxyPassword=p@ss" in options
    assert "-Dhttp.nonProxyHosts=localhost|127.*|[::1]|*.corp.test|maven.test" in options


def test_a_mirror_is_shown_without_its_password() -> None:
    assert without_password("https://me:secret@maven.test:8443/m2") == "https://maven.test:8443/m2"


@pytest.mark.parametrize("mirror", ["maven.test/m2", "ftp://maven.test", "https://"])
def test_a_mirror_that_is_no_address(mirror: str) -> None:
    with pytest.raises(ConfigError) as raised:
        _settings(mirror)
    assert raised.value.condition == "MAVEN_MIRROR_INVALID"
    assert raised.value.facts == {"value": mirror, "variable": "PENSTOCK_MAVEN_MIRROR"}


def test_the_key_store_is_what_java_reads() -> None:
    store = java_key_store([b"first", b"second"])
    assert struct.unpack(">III", store[:12]) == (0xFEEDFEED, 2, 2)
    content, checksum = store[:-20], store[-20:]
    assert hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + content).digest() == checksum
