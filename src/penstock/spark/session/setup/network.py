"""How Java reaches a repository from this machine: through its proxies, with the certificates that it trusts.

The bundled Java brings its own list of certificates, which lacks a company's. Without it every download behind a
company's proxy fails, while pip beside it works.
"""

from __future__ import annotations

import hashlib
import ssl
import struct
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

PASSWORD = "changeit"  # noqa: S105 - the list is public; Java's format wants a password, and this is everybody's
_MAGIC, _VERSION, _TRUSTED_CERTIFICATE = 0xFEEDFEED, 2, 2


def proxy_options(environ: Mapping[str, str]) -> list[str]:
    """Returns `-D` options for HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case of letters.

    They may hold the proxy's password: pass them in the environment of the JVM, not on its command line.
    """
    options: list[str] = []
    for scheme in ("https", "http"):
        proxy = urlsplit(_setting(environ, f"{scheme}_proxy"))
        if not proxy.hostname:
            continue
        options += [f"-D{scheme}.proxyHost={proxy.hostname}", f"-D{scheme}.proxyPort={proxy.port or 80}"]
        if proxy.username:
            # Ivy reads the http names for both; Java refuses a password to HTTPS proxies unless told otherwise.
            options += [f"-Dhttp.proxyUser={unquote(proxy.username)}", "-Djdk.http.auth.tunneling.disabledSchemes="]
            options += [f"-Dhttp.proxyPassword={unquote(proxy.password or '')}"]
    direct = [_java_pattern(host.strip()) for host in _setting(environ, "no_proxy").split(",") if host.strip()]
    if options and direct:
        options.append("-Dhttp.nonProxyHosts=" + "|".join(dict.fromkeys(["localhost", "127.*", "[::1]", *direct])))
    return options


def _setting(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""


def _java_pattern(host: str) -> str:
    return "*" + host if host.startswith(".") else host


def trust_store_options(folder: Path) -> list[str]:
    """Writes the trust store into `folder`; returns the `-D` options that name it, none when Python has none."""
    certificates = ssl.create_default_context().get_ca_certs(binary_form=True)
    if not certificates:
        return []
    store = folder / "trusted.jks"
    store.write_bytes(java_key_store(certificates))
    return [f"-Djavax.net.ssl.trustStore={store}", f"-Djavax.net.ssl.trustStorePassword={PASSWORD}"]


def java_key_store(certificates: list[bytes]) -> bytes:
    """Returns a Java key store (format JKS) of trusted X.509 certificates, each in DER form."""
    content = struct.pack(">III", _MAGIC, _VERSION, len(certificates))
    for number, certificate in enumerate(certificates):
        content += struct.pack(">I", _TRUSTED_CERTIFICATE) + _text(f"trusted-{number}") + struct.pack(">Q", 0)
        content += _text("X.509") + struct.pack(">I", len(certificate)) + certificate
    # The format's own checksum: the password in UTF-16, a fixed phrase, the content.
    checksum = hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + content, usedforsecurity=False)
    return content + checksum.digest()


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">H", len(encoded)) + encoded
