"""Secrets by reference: a pipeline file says where a secret is, never what it is."""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote, quote_plus
from weakref import WeakValueDictionary

from penstock.config.files.regular_file import read_regular_file
from penstock.errors import ConfigError, SourceLocation

_SHORTEST_IN_BASE64: Final = 6  # of fewer bytes, what is left when both ends are cut off could be any word
_BASE64: Final = r"[A-Za-z0-9+/_-]?"


def pattern_of(values: Iterable[str]) -> str:
    """Returns a regular expression, for Python and for Java, of all forms of `values`; empty if there are none."""
    forms = {form for value in values if value for form in _forms(value)}
    return "|".join(sorted(forms, key=lambda form: (-len(form), form)))  # the longest that fits first


def _forms(value: str) -> Iterator[str]:
    for text in (value, html.escape(value), repr(value)[1:-1], *_as_json(value), *_in_urls(value)):
        yield re.escape(text)
    content = value.encode("utf-8", "surrogateescape")
    if len(content) >= _SHORTEST_IN_BASE64:
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            for before in range(3):
                # What stands before the secret, `user:` for instance, shifts it by 0, 1 or 2 bytes. A letter at
                # either end can hold bits of its neighbours as well.
                encoded = encode(bytes(before) + content).decode("ascii")
                own = encoded[(before * 8 + 5) // 6 : (before + len(content)) * 8 // 6]
                yield f"{_BASE64}{re.escape(own)}{_BASE64}"


def _as_json(value: str) -> Iterator[str]:
    for ascii_only in (True, False):
        yield json.dumps(value, ensure_ascii=ascii_only)[1:-1]


def _in_urls(value: str) -> Iterator[str]:
    for text in (
        quote(value, safe="", errors="replace"),
        quote(value, errors="replace"),
        quote_plus(value, errors="replace"),
    ):
        yield text
        yield re.sub("%[0-9A-F]{2}", lambda found: found.group(0).lower(), text)


REFERENCE = re.compile(r"\$\{(env|file|secret):([^}]*)\}")
"""A reference inside a text: to an environment variable, a file, or an entry of `secrets`."""

WHOLE_REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")
"""What an entry of `secrets` must be, from its first to its last character."""


REDACTED = "***"
"""What takes the place of a secret."""

_LARGEST = 1_000_000
"""Bytes of a file with a secret."""

_made: WeakValueDictionary[int, SecretReference] = WeakValueDictionary()


@dataclass(frozen=True, slots=True, repr=False, weakref_slot=True)
class SecretReference:
    """Where the value of a secret is. Its repr shows the reference; the value is never kept.

    `source` is `env` or `file`, `target` the variable or the path as it is written, `path` the file itself. It cannot
    be pickled: a secret does not leave the driver by accident.
    """

    name: str
    source: str
    target: str
    location: SourceLocation | None
    _read: Callable[[], str] = field(compare=False)
    path: Path | None = None

    def resolve(self) -> str:
        """Returns the value, read again at each call; one line end after it is removed.

        Raises:
            ConfigError: SECRET_NOT_FOUND when there is none, or when it is empty.
        """
        try:
            value = self._read()
        except KeyError:
            reason = f"the environment variable {self.target} is not set"
        except OSError as error:
            reason = f"the file {self.target} cannot be read ({error.strerror})"
        except UnicodeDecodeError:
            reason = f"the file {self.target} is not UTF-8 text"
        else:
            if value:
                return value
            reason = f"{'the environment variable' if self.source == 'env' else 'the file'} {self.target} is empty"
        raise ConfigError("SECRET_NOT_FOUND", location=self.location, secret=self.name, reason=reason) from None

    def __post_init__(self) -> None:
        _made[id(self)] = self

    def __repr__(self) -> str:
        return f"SecretReference({self.name!r}, ${{{self.source}:{self.target}}})"

    def __getstate__(self) -> object:
        raise TypeError("a SecretReference cannot be pickled; resolve it on the driver")


def redacted(text: str, references: Iterable[SecretReference] | None = None) -> str:
    """Returns `text` with the value of each secret replaced by `***`; of all that this process refers to by default.

    Found as it is, escaped, encoded for a URL, and in Base64. A secret without a value is passed over.
    """
    pattern = secrets_pattern(references)
    return re.sub(pattern, REDACTED, text) if pattern else text


def secrets_pattern(references: Iterable[SecretReference] | None = None) -> str:
    """Returns the regular expression with which `redacted` looks for secrets; empty if none has a value."""
    values = set()
    for reference in tuple(_made.values()) if references is None else references:
        with suppress(ConfigError):
            values.add(reference.resolve())
    return pattern_of(values)


def refer(
    name: str,
    source: str,
    target: str,
    *,
    directory: Path,
    environ: Mapping[str, str],
    location: SourceLocation | None,
) -> SecretReference:
    """Returns the reference to a variable of `environ` or to a file relative to `directory`."""
    if source == "env":
        return SecretReference(name, source, target, location, partial(environ.__getitem__, target))
    path = directory / os.path.expanduser(target)
    return SecretReference(name, source, target, location, partial(_read_file, path), path)


def _read_file(path: Path) -> str:
    return read_regular_file(path, _LARGEST).decode("utf-8").removesuffix("\n").removesuffix("\r")
