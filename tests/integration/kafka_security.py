"""How the test broker lets clients in: TLS with certificates that openssl makes, and logins with PLAIN and SCRAM."""

from __future__ import annotations

import subprocess
from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from tests.processes import free_ports

USER, PASSWORD = "reader", 'canary-"plain"\\password'
SCRAM_USER, SCRAM_PASSWORD = "orders_reader", "canary-scram-password"
CONNECTION_STRING = (
    "Endpoint=sb://127.0.0.1:{port}/;SharedAccessKeyName=penstock;SharedAccessKey=canary-shared-access-key="
)
_LOGIN = "org.apache.kafka.common.security"
_PROPERTIES = """\
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasl_ssl.plain.sasl.jaas.config={login}.plain.PlainLoginModule required {users};
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config={login}.scram.ScramLoginModule required;
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config={login}.scram.ScramLoginModule required;
ssl.keystore.type=PEM
ssl.keystore.location={folder}/localhost.keys.pem
listener.name.elsewhere.ssl.keystore.type=PEM
listener.name.elsewhere.ssl.keystore.location={folder}/elsewhere.keys.pem
listener.name.mutual.ssl.client.auth=required
listener.name.mutual.ssl.truststore.type=PEM
listener.name.mutual.ssl.truststore.location={folder}/trusted.pem
"""


class BrokerSecurity:
    """More listeners of a broker: `tls`, `login` (SASL, TLS), `elsewhere` with another host's certificate, `mutual`.

    `mutual` asks the client for a certificate.
    Each is `host:port`. `trusted` is the PEM file with the certificates of both hosts, `keys` the one with the key and
    the certificate of this host.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        ports = dict(zip(("SSL", "SASL_SSL", "ELSEWHERE", "MUTUAL"), free_ports(4), strict=True))
        self.listeners = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        self.tls, self.login, self.elsewhere, self.mutual = self.listeners.values()
        self.connection_string = CONNECTION_STRING.format(port=ports["SASL_SSL"])
        self.trusted = folder / "trusted.pem"
        self.keys = folder / "localhost.keys.pem"

    def properties(self) -> str:
        """Makes the certificates and returns what the broker's properties say of them."""
        self._folder.mkdir(parents=True, exist_ok=True)
        own = self._certificate("localhost", "DNS:localhost,IP:127.0.0.1")
        self.trusted.write_text(own + self._certificate("elsewhere", "DNS:elsewhere.example"))
        users = {USER: PASSWORD, "$ConnectionString": self.connection_string}
        told = " ".join(f'user_{user}="{_escaped(password)}"' for user, password in users.items())
        # Once more, as a file of properties reads a backslash too.
        return _PROPERTIES.format(login=_LOGIN, users=told.replace("\\", "\\\\"), folder=self._folder)

    def add_scram_user(self, address: str) -> None:
        """Adds the user of SCRAM; `address` is the broker's open listener."""
        admin = AdminClient({"bootstrap.servers": address})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            wanted = UserScramCredentialUpsertion(
                SCRAM_USER, ScramCredentialInfo(mechanism, 4096), SCRAM_PASSWORD.encode()
            )
            for done in admin.alter_user_scram_credentials([wanted]).values():
                done.result(30)

    def _certificate(self, name: str, hosts: str) -> str:
        key, certificate = self._folder / f"{name}.key", self._folder / f"{name}.pem"
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
        command += ["-addext", f"subjectAltName={hosts}", "-keyout", str(key), "-out", str(certificate)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        (self._folder / f"{name}.keys.pem").write_text(key.read_text() + certificate.read_text())
        return certificate.read_text()


def jaas(user: str, password: str, module: str = "plain.PlainLoginModule") -> str:
    """Returns the client's `sasl.jaas.config`; a password may be a reference, which is filled in quoted."""
    return f'{_LOGIN}.{module} required username="{user}" password="{password}";'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
