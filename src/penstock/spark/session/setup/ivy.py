"""Apache Ivy, which ships inside PySpark, as the downloader of jars from a Maven repository.

It goes through the machine's proxies, and trusts the certificates that this machine trusts: the bundled Java brings its
own list, which lacks a company's, and every download behind a company's proxy would fail while pip beside it works.
"""

from __future__ import annotations

import hashlib
import re
import ssl
import struct
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit
from xml.sax.saxutils import quoteattr

from penstock.errors import ConfigError, ExternalError
from penstock.spark.session.setup.cache import Progress
from penstock.spark.session.setup.children import ends_with_us
from penstock.spark.session.setup.java import Java, JavaOrigin
from penstock.spark.session.setup.known_jars import LockedJar, ivy_jar

MIRROR = "PENSTOCK_MAVEN_MIRROR"
_DEFAULT_REPOSITORY = "Maven Central"
_FILE_NAME = "[artifact]-[revision](-[classifier]).[ext]"
_NAMESPACE = "http://ant.apache.org/ivy/extra"
_DOWNLOADING = re.compile(r"^downloading \S*?([^/\s]+\.jar)")
_UNRESOLVED = re.compile(r":: ([^#\s]+)#([^;\s]+);(\S+?): (?:not found|.*)$", re.MULTILINE)
_REALM = re.compile(r'realm="([^"]*)"', re.IGNORECASE)
_SERVER_ERROR = re.compile(r"Server access error at url \S+ \((.+)\)\s*$", re.MULTILINE)
_MISSING_ARTIFACT = re.compile(r"^\s*\[(?:FAILED|NOT FOUND)\s*\]\s*([^#\s]+)#([^;\s]+);([^!\s]+)!", re.MULTILINE)

PASSWORD = "changeit"  # noqa: S105 - the list is public; Java's format wants a password, and this is everybody's
_MAGIC, _VERSION, _TRUSTED_CERTIFICATE = 0xFEEDFEED, 2, 2


def retrieve(
    jars: Sequence[LockedJar],
    target: Path,
    *,
    scratch: Path,
    java: Java,
    environ: Mapping[str, str],
    progress: Progress,
) -> None:
    """Downloads `jars` into the folder `target`; `scratch` is an empty folder for Ivy's own files.

    `$PENSTOCK_MAVEN_MIRROR` names another repository than Maven Central; proxies come from HTTPS_PROXY, HTTP_PROXY
    and NO_PROXY. Nothing is verified here.

    Raises:
        ConfigError: MAVEN_MIRROR_INVALID.
        ExternalError: JARS_DOWNLOAD_FAILED, with the first artifact that is missing.
    """
    mirror = environ.get(MIRROR, "").strip()
    realm = _realm(mirror, jars[0]) if urlsplit(mirror).username else ""
    (scratch / "settings.xml").write_text(_settings(mirror, realm), encoding="utf-8")
    (scratch / "ivy.xml").write_text(_module(jars), encoding="utf-8")
    output = _run_ivy(jars, target, scratch=scratch, java=java, environ=environ, progress=progress)
    missing = [jar for jar in jars if not (target / jar.file_name).is_file()]
    if missing:
        raise ExternalError(
            "JARS_DOWNLOAD_FAILED",
            artifact=_first_failure(output) or missing[0].coordinates,
            repository=without_password(mirror) if mirror else _DEFAULT_REPOSITORY,
            reason=_reason(output),
        )


def without_password(url: str) -> str:
    """Returns `url` without its user and password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _run_ivy(
    jars: Sequence[LockedJar],
    target: Path,
    *,
    scratch: Path,
    java: Java,
    environ: Mapping[str, str],
    progress: Progress,
) -> str:
    # Through the environment, because a process list shows command lines to every user of the machine.
    network = proxy_options(environ)
    if java.origin is JavaOrigin.BUNDLED:
        network += trust_store_options(scratch)
    quoted = " ".join(f'"{option}"' for option in [*environ.get("JDK_JAVA_OPTIONS", "").split(), *network])
    command = [str(java.executable), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", str(ivy_jar())]
    command += ["org.apache.ivy.Main", "-settings", str(scratch / "settings.xml"), "-ivy", str(scratch / "ivy.xml")]
    command += ["-cache", str(scratch / "cache"), "-retrieve", str(target / _FILE_NAME)]
    command += ["-types", "jar", "bundle"]
    lines: list[str] = []
    started = 0
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**environ, "JDK_JAVA_OPTIONS": quoted},
    ) as ivy:
        ends_with_us(ivy)
        assert ivy.stdout is not None
        for line in ivy.stdout:
            lines.append(line)
            if found := _DOWNLOADING.match(line):
                started += 1
                progress(f"Downloading {found.group(1)} ({started} of {len(jars)})")
    return "".join(lines)


def _realm(mirror: str, jar: LockedJar) -> str:
    """Returns the name under which the mirror asks for a password; Java gives one only to a name that it knows."""
    address = f"{without_password(mirror).rstrip('/')}/{jar.organisation.replace('.', '/')}/{jar.name}/{jar.revision}/"
    try:
        with urllib.request.urlopen(address + jar.file_name, timeout=15):  # noqa: S310 - `_settings` checks the scheme
            return ""
    except urllib.error.HTTPError as refusal:
        found = _REALM.search(refusal.headers.get("WWW-Authenticate", ""))
        return found.group(1) if found else ""
    except (OSError, ValueError):
        return ""  # Ivy meets the same and says why


def _settings(mirror: str, realm: str = "") -> str:
    root = credentials = ""
    if mirror:
        parts = urlsplit(mirror)
        if parts.scheme not in {"http", "https", "file"} or not (parts.netloc or parts.path):
            raise ConfigError("MAVEN_MIRROR_INVALID", value=without_password(mirror), variable=MIRROR)
        root = " root=" + quoteattr(without_password(mirror))
        if parts.username:
            credentials = (
                f"<credentials realm={quoteattr(realm)} host={quoteattr(parts.hostname or '')}"
                f" username={quoteattr(unquote(parts.username))} passwd={quoteattr(unquote(parts.password or ''))}/>"
            )
    # The lock names every jar, so POMs need not be read, which halves the number of requests.
    return (
        f'<ivysettings>{credentials}<settings defaultResolver="maven"/><timeout-constraints>'
        '<timeout-constraint name="patience" connectionTimeout="15000" readTimeout="60000"/></timeout-constraints>'
        f'<resolvers><ibiblio name="maven" m2compatible="true" usepoms="false" timeoutConstraint="patience"{root}/>'
        "</resolvers></ivysettings>"
    )


def _module(jars: Sequence[LockedJar]) -> str:
    dependencies = "".join(
        f"<dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.name)} rev={quoteattr(jar.revision)}"
        f' transitive="false">{_artifact(jar)}</dependency>'
        for jar in jars
    )
    return (
        f'<ivy-module version="2.0" xmlns:e="{_NAMESPACE}">'
        '<info organisation="penstock" module="jars"/><configurations><conf name="default"/>'
        f'</configurations><dependencies defaultconf="default->default">{dependencies}</dependencies></ivy-module>'
    )


def _artifact(jar: LockedJar) -> str:
    if not jar.classifier:
        return ""
    return f'<artifact name={quoteattr(jar.name)} type="jar" ext="jar" e:classifier={quoteattr(jar.classifier)}/>'


def _first_failure(output: str) -> str | None:
    found = _MISSING_ARTIFACT.search(output) or _UNRESOLVED.search(output)
    return ":".join(found.groups()) if found else None


def _reason(output: str) -> str:
    found = _SERVER_ERROR.search(output)
    return found.group(1) if found else "the repository does not have it, or cannot be reached"


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
            # Ivy reads the http names for both; Java sends HTTPS proxies no password by default.
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
