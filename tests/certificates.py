"""A private authority, and the certificates that it signs: what a company has, and no client trusts by itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

_NEW = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]


class Authority:
    """An authority made for a test; `certificate` is the PEM file that trusts whatever it signs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.certificate, self._key = folder / "authority.pem", folder / "authority.key"
        _make([*_NEW, "-subj", "/CN=authority", "-keyout", str(self._key), "-out", str(self.certificate)])

    def sign(self, name: str, hosts: str) -> Path:
        """Returns a PEM file with a key and its certificate; `hosts` such as `DNS:localhost,IP:127.0.0.1`."""
        key, certificate, both = (self._folder / f"{name}.{ending}" for ending in ("key", "pem", "keys.pem"))
        command = [*_NEW, "-subj", f"/CN={name}", "-CA", str(self.certificate), "-CAkey", str(self._key)]
        command += ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", f"subjectAltName={hosts}"]
        _make([*command, "-keyout", str(key), "-out", str(certificate)])
        both.write_text(key.read_text() + certificate.read_text())
        return both


def _make(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=60)
