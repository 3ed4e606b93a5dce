"""A real LDAP server (UnboundID's in-memory directory) on loopback, with TLS, started and stopped by the test."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.certificates import Authority
from tests.integration.java import java_executable, ldap_class_path
from tests.processes import Server, accepts_connections, free_ports

_BASE = "dc=example,dc=com"
PEOPLE = f"ou=people,{_BASE}"
_PASSWORD = "of the keystore"


@dataclass(frozen=True)
class LdapServer:
    """Its address, and the PEM file of the authority that its certificate is from; `stop` and `start` keep both."""

    url: str
    certificates: Path
    _server: Server
    _port: int

    def start(self) -> None:
        self._server.start(lambda: accepts_connections(self._port))

    def stop(self) -> None:
        self._server.stop()


@contextmanager
def ldap_server(folder: Path, passwords: Mapping[str, str], *, tls: bool = True) -> Iterator[LdapServer]:
    """Starts the server; `passwords` are those of `uid=NAME,ou=people,dc=example,dc=com`, NAME as it stands in a DN."""
    folder.mkdir(parents=True, exist_ok=True)
    authority = Authority(folder / "authority")
    store = folder / "server.p12"
    keys = authority.sign("ldap", "DNS:localhost,IP:127.0.0.1")
    export = ["openssl", "pkcs12", "-export", "-in", str(keys), "-out", str(store), "-passout", f"pass:{_PASSWORD}"]
    subprocess.run(export, check=True, capture_output=True, timeout=60)
    entries = [
        f"dn: {_BASE}\nobjectClass: domain\ndc: example",
        f"dn: {PEOPLE}\nobjectClass: organizationalUnit\nou: people",
    ]
    for name, password in passwords.items():
        entry = f"dn: uid={name},{PEOPLE}\nobjectClass: inetOrgPerson\ncn: {name}\nsn: {name}\nuserPassword: {password}"
        entries.append(entry)
    (folder / "people.ldif").write_text("\n\n".join(entries) + "\n", encoding="utf-8")
    [port] = free_ports(1)
    command = [java_executable(), "-Xmx64m", "-cp", ldap_class_path()]
    command += ["com.unboundid.ldap.listener.InMemoryDirectoryServerTool", "--port", str(port), "--baseDN", _BASE]
    command += ["--ldifFile", str(folder / "people.ldif")]
    if tls:
        command += [
            "--useSSL",
            "--keyStorePath",
            str(store),
            "--keyStorePassword",
            _PASSWORD,
            "--keyStoreType",
            "PKCS12",
        ]
    scheme = "ldaps" if tls else "ldap"
    server = LdapServer(
        f"{scheme}://127.0.0.1:{port}", authority.certificate, Server("LDAP", command, folder / "ldap.log"), port
    )
    server.start()
    try:
        yield server
    finally:
        server.stop()
