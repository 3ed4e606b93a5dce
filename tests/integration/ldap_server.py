"""A real LDAP server (UnboundID's in-memory directory) on loopback, with TLS, started and stopped by the test."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tests.certificates import Authority
from tests.integration.java import java_executable, ldap_class_path
from tests.processes import Server, accepts_connections, free_ports

_BASE = "dc=example,dc=com"
PEOPLE = f"ou=people,{_BASE}"
GROUPS = f"ou=groups,{_BASE}"
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
def ldap_server(
    folder: Path,
    passwords: Mapping[str, str],
    *,
    tls: bool = True,
    start_tls: bool = False,
    groups: Mapping[str, Sequence[str]] = MappingProxyType({}),
    of_entries: bool = False,
    active: bool = False,
) -> Iterator[LdapServer]:
    """Starts the server.

    Args:
        folder: where it has its files.
        passwords: those of `uid=NAME,ou=people,dc=example,dc=com`, NAME as it stands in a DN.
        tls: whether it takes `ldaps` connections.
        start_tls: whether it takes `ldap` connections that may become encrypted.
        groups: the members of each `cn=NAME,ou=groups,dc=example,dc=com`.
        of_entries: whether entries name their groups (`memberOf`), instead of the groups their members.
        active: whether binds take names as those of Active Directory do.
    """
    folder.mkdir(parents=True, exist_ok=True)
    authority = Authority(folder / "authority")
    store = folder / "server.p12"
    keys = authority.sign("ldap", "DNS:localhost,IP:127.0.0.1")
    export = ["openssl", "pkcs12", "-export", "-in", str(keys), "-out", str(store), "-passout", f"pass:{_PASSWORD}"]
    subprocess.run(export, check=True, capture_output=True, timeout=60)
    entries = _entries(passwords, groups, of_entries=of_entries)
    (folder / "people.ldif").write_text("\n\n".join(entries) + "\n", encoding="utf-8")
    [port] = free_ports(1)
    command = [java_executable(), "-Xmx64m", "-cp", ldap_class_path()]
    if active:
        program = Path(__file__).with_name("ActiveDirectoryNames.java")
        command += [str(program), str(port), _BASE, str(folder / "people.ldif"), str(store), _PASSWORD]
    else:
        command += ["com.unboundid.ldap.listener.InMemoryDirectoryServerTool", "--port", str(port), "--baseDN", _BASE]
        command += ["--ldifFile", str(folder / "people.ldif")]
        if tls:
            command += ["--useStartTLS" if start_tls else "--useSSL", "--keyStorePath", str(store)]
            command += ["--keyStorePassword", _PASSWORD, "--keyStoreType", "PKCS12"]
    scheme = "ldaps" if tls and not start_tls else "ldap"
    server = LdapServer(
        f"{scheme}://127.0.0.1:{port}", authority.certificate, Server("LDAP", command, folder / "ldap.log"), port
    )
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _entries(passwords: Mapping[str, str], groups: Mapping[str, Sequence[str]], *, of_entries: bool) -> Iterator[str]:
    yield f"dn: {_BASE}\nobjectClass: domain\ndc: example"
    yield f"dn: {PEOPLE}\nobjectClass: organizationalUnit\nou: people"
    yield f"dn: {GROUPS}\nobjectClass: organizationalUnit\nou: groups"
    for name, password in passwords.items():
        own = [f"memberOf: cn={group},{GROUPS}" for group, members in groups.items() if of_entries and name in members]
        lines = [f"dn: uid={name},{PEOPLE}", "objectClass: inetOrgPerson", f"cn: {name}", f"sn: {name}"]
        names = [f"sAMAccountName: {name}", f"userPrincipalName: {name}@example.com"]
        yield "\n".join([*lines, *names, f"userPassword: {password}", *own])
    for group, members in groups.items():
        listed = [] if of_entries else [f"member: uid={name},{PEOPLE}" for name in members]
        yield "\n".join([f"dn: cn={group},{GROUPS}", "objectClass: groupOfNames", f"cn: {group}", *listed])
