"""The certificates that this machine trusts, in a file that Java can read.

The bundled Java brings its own list, which lacks a company's certificate. Without it every download behind a company's
proxy fails, while pip beside it works.
"""

from __future__ import annotations

import hashlib
import ssl
import struct
from pathlib import Path

PASSWORD = "changeit"  # noqa: S105 - the list is public; Java's format wants a password, and this is everybody's
_MAGIC, _VERSION, _TRUSTED_CERTIFICATE = 0xFEEDFEED, 2, 2


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
