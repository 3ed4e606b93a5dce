"""Real receivers on loopback: a web server, with TLS if wanted, and a mail server."""

from __future__ import annotations

import datetime
import gc
import http.server
import socket
import ssl
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def certificate(folder: Path) -> Path:
    """Makes a certificate for `localhost` that signs itself; returns the file of it and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "localhost.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return file


@dataclass
class WebReceiver:
    """What a web server was sent. `answers` are the next statuses, then `answer`; it waits for `hold` before each."""

    url: str = ""
    answer: int = 204
    answers: list[int] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    hold: threading.Event = field(default_factory=threading.Event)


@contextmanager
def web_receiver(pem: Path | None = None) -> Iterator[WebReceiver]:
    """Serves on loopback, with TLS if there is a certificate."""
    told = WebReceiver()
    told.hold.set()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.requests.append((self.path, {key.lower(): value for key, value in self.headers.items()}, body))
            told.hold.wait(20)
            self.send_response(told.answers.pop(0) if told.answers else told.answer)
            for key, value in told.headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Stays quiet."""

    context = None
    if pem is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def finish_request(self, request: Any, client_address: Any) -> None:
            if context is None:
                super().finish_request(request, client_address)
                return
            with context.wrap_socket(request, server_side=True, do_handshake_on_connect=False) as secured:
                super().finish_request(secured, client_address)

        def handle_error(self, *_: Any) -> None:
            """A client that does not trust the certificate goes away."""

    server = Server(("127.0.0.1", 0), Handler)
    told.url = f"{'https' if pem else 'http'}://localhost:{server.server_address[1]}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        told.hold.set()
        server.shutdown()
        server.server_close()
        _collect_refused()


def _collect_refused() -> None:
    """Python's ssl leaves a socket to the collector when its peer is gone before the handshake."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@dataclass
class MailReceiver:
    """What a mail server was told; `encrypted` says which commands came behind STARTTLS."""

    port: int = 0
    mails: list[str] = field(default_factory=list)
    commands: list[tuple[str, bool]] = field(default_factory=list)
    refuse: dict[str, str] = field(default_factory=dict)


@contextmanager
def mail_receiver(pem: Path | None) -> Iterator[MailReceiver]:
    """Serves SMTP on loopback; without a certificate it offers no STARTTLS."""
    told = MailReceiver()
    listener = socket.create_server(("127.0.0.1", 0))
    told.port = listener.getsockname()[1]
    closed = threading.Event()

    def accept() -> None:
        while not closed.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=_serve, args=(connection, told, pem), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield told
    finally:
        closed.set()
        listener.close()
        _collect_refused()


def _serve(connection: socket.socket, told: MailReceiver, pem: Path | None) -> None:
    encrypted = False
    reader = connection.makefile("rb")

    def say(text: str) -> None:
        connection.sendall(text.encode() + b"\r\n")

    say("220 test")
    try:
        while line := reader.readline():
            words = line.decode().strip()
            verb = words.partition(" ")[0].upper()
            told.commands.append((words, encrypted))
            if verb in told.refuse:
                say(told.refuse[verb])
            elif verb == "EHLO":
                say("250-test")
                say("250-AUTH PLAIN LOGIN")
                say("250 STARTTLS" if pem is not None and not encrypted else "250 HELP")
            elif verb == "STARTTLS" and pem is not None:
                say("220 go on")
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(pem)
                reader.close()
                connection = context.wrap_socket(connection, server_side=True)
                reader = connection.makefile("rb")
                encrypted = True
            elif verb == "AUTH":
                say("235 welcome")
            elif verb == "DATA":
                say("354 go on")
                lines = []
                while (part := reader.readline()) not in {b".\r\n", b""}:
                    lines.append(part.decode())
                told.mails.append("".join(lines))
                say("250 taken")
            elif verb == "QUIT":
                say("221 bye")
                return
            else:
                say("250 ok")
    except (OSError, ValueError):
        return
    finally:
        reader.close()
        connection.close()
