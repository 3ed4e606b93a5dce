"""What a pipeline file says about its SQL endpoint: where it listens, who may ask, and how much."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from penstock.config.references import Reference, reference
from penstock.config.shapes import Count, Flag, Key, MapOf, Section, Text, TextList, TextMap, matching
from penstock.config.values.interval import interval_of_key
from penstock.config.values.secret import REFERENCE, SecretReference
from penstock.errors import ConfigError

PASSWORD_HASH: Final = re.compile(r"scrypt:(\d{1,9}):(\d{1,3}):(\d{1,3}):([0-9a-f]{16,128}):([0-9a-f]{32,128})")
"""What `penstock serve --hash-password` prints: the cost N, r and p, the salt, and the key of the password."""

USER: Final = "{user}"
"""In `ldap_user`, the name that a client gives."""

_size = matching(r"[1-9]\d{0,5}[mg]", "a number with m or g", "256m")


def _password(key: str, text: str) -> str | Reference:
    """Parses a salted hash, or a reference to a password; a password itself is refused and not repeated."""
    if PASSWORD_HASH.fullmatch(text):
        return text
    return reference(key, text)


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """How `penstock serve` answers.

    `users` has each user's password as a reference, or as a salted hash; others log in with the password that the
    directory at `ldap_url` has, and have a role of `ldap_roles` when they are in one of its groups (DNs). An `address`
    that is not of this machine alone needs one or the other. `query_timeout` is in seconds, `row_limit` in rows of a
    result; 0 is no limit. `max_result_size` and `memory` are sizes as Spark writes them.
    """

    address: str = "127.0.0.1"
    port: int = 10000
    users: Mapping[str, SecretReference | str] = field(default_factory=dict, repr=False)
    ldap_url: str | None = None
    ldap_user: str | None = None
    ldap_certificates: Path | None = None
    ldap_starttls: bool = False
    ldap_roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ldap_base: str | None = None
    ldap_group_filter: str | None = None
    keystore: Path | None = None
    keystore_password: SecretReference | None = None
    query_timeout: float = 300.0
    row_limit: int = 1_000_000
    max_result_size: str = "256m"
    memory: str | None = None
    connections: int = 100
    health_port: int | None = None

    @property
    def has_logins(self) -> bool:
        """Whether a client proves its name with a password."""
        return bool(self.users) or self.ldap_url is not None


SERVE: Final = Section(
    (
        Key("address", Text(), "The address to listen on; others than loopback need users.", "10.0.0.7", "127.0.0.1"),
        Key("port", Count(), "The port of the Thrift server; 0 is any free one.", "10001", "10000"),
        Key(
            "users",
            TextMap(_password, rf"{PASSWORD_HASH.pattern}|{REFERENCE.pattern}"),
            "Who may log in: the salted hash of a password (penstock serve --hash-password), or a reference to one.",
            '{ada: "${env:ADA_PASSWORD}"}',
        ),
        Key("ldap_url", Text(), "A directory that knows the passwords of other users.", "ldaps://ldap.example.com"),
        Key(
            "ldap_user",
            Text(),
            "Under which name it knows a user.",
            '"uid={user},ou=people,dc=example,dc=com"',
        ),
        Key("ldap_certificates", Text(), "A PEM file of authorities for its certificate.", "ca.pem", "the system's"),
        Key("ldap_starttls", Flag(), "Whether a connection to ldap:// is encrypted with StartTLS.", "true", "false"),
        Key(
            "ldap_roles",
            MapOf(TextList()),
            "The groups of the directory (DNs) whose members have a role, by role.",
            '{analysts: ["cn=analysts,ou=groups,dc=example,dc=com"]}',
        ),
        Key("ldap_base", Text(), "Where users and groups are searched.", '"dc=example,dc=com"'),
        Key(
            "ldap_group_filter",
            Text(),
            "Which groups a user is in, by the DN or the name.",
            '"(member={dn})"',
            "those that memberOf of the user's entry names",
        ),
        Key("keystore", Text(), "A PKCS12 or JKS file with certificate and key, for TLS.", "serve.p12"),
        Key("keystore_password", Text(reference), "Its password.", '"${env:KEYSTORE_PASSWORD}"'),
        Key(
            "query_timeout",
            Text(interval_of_key),
            "How long a query may take.",
            "1 minute",
            "5 minutes",
        ),
        Key("row_limit", Count(), "How many rows a result may have; 0 is no limit.", "100000", "1000000"),
        Key("max_result_size", Text(_size), "How many bytes a result may have.", "64m", "256m"),
        Key("memory", Text(_size), "The heap of the server's Java.", "4g", "Spark's, 1g"),
        Key("connections", Count(), "How many connections may be open.", "20", "100"),
        Key(
            "health_port", Count(), "The port of the health page, on the loopback address; 0 is any free one.", "10080"
        ),
    )
)


def serve_settings(values: Mapping[str, Any], folder: Path) -> ServeSettings:
    """Returns the settings of the values of a file's section `serve`; paths in it are relative to `folder`."""
    given = dict(values)
    for name in given.get("users", ()):
        if "@" in name or "/" in name:  # Hive takes what is before it for the name
            raise ConfigError(
                "CONFIG_INVALID_VALUE", key="serve.users", value=name, expected="names without @ and /", example="ada"
            )
    for key in {"keystore", "ldap_certificates"} & given.keys():
        given[key] = folder / os.path.expanduser(given[key])
    if "ldap_roles" in given:
        given["ldap_roles"] = {role: tuple(map(str, groups)) for role, groups in given["ldap_roles"].items()}
    return ServeSettings(**given)
