"""The client of a schema registry: Confluent's REST API, as far as reading needs it."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import quote

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from penstock.spark.failures.python_sources import SourceFailure

_SECONDS: Final = 5.0
_ATTEMPTS: Final = 4
_AGAIN: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})
_NO_SUCH: Final = range(40400, 40500)
"""The registry's own codes for what it does not have; a 404 without one is not the registry's."""


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as the registry has it: its kind (AVRO, PROTOBUF, JSON), its text, and those that it refers to.

    `references` are in an order in which each needs only the earlier ones, as pairs of the name that it is referred to
    by and its text.
    """

    kind: str
    text: str
    references: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """A registry and how to enter it; can be pickled, and holds a password: never show or log it.

    Args:
        address: Its URL.
        login: `user:password`; default: none.
        ca_file: A PEM file with the authority that signed its certificate; default: those of the system.
    """

    address: str
    login: str | None = field(default=None, repr=False)
    ca_file: str | None = None

    def by_id(self, number: int, *, form: str = "") -> RegisteredSchema | None:
        """Returns the schema of an id; None when the registry has none. `form` is the API's `format`.

        Raises:
            SourceFailure: SCHEMA_REGISTRY_UNREACHABLE, which is retried; SCHEMA_REGISTRY_LOGIN_REFUSED,
                SCHEMA_REGISTRY_TLS_FAILED, SCHEMA_REGISTRY_UNUSABLE.
        """
        return self._schema(f"schemas/ids/{number}", form)

    def latest(self, subject: str, *, form: str = "") -> RegisteredSchema:
        """Returns the newest schema of a subject.

        Raises:
            SourceFailure: SCHEMA_SUBJECT_UNKNOWN, and those of `by_id`.
        """
        found = self._schema(f"subjects/{quote(subject, safe='')}/versions/latest", form)
        if found is None:
            raise SourceFailure("SCHEMA_SUBJECT_UNKNOWN", subject=subject, registry=self.address)
        return found

    def _schema(self, path: str, form: str) -> RegisteredSchema | None:
        answer = self._get(f"{path}?format={form}" if form else path)
        if answer is None:
            return None
        references: dict[str, str] = {}
        self._follow(answer, form, references)
        try:
            return RegisteredSchema(answer.get("schemaType") or "AVRO", answer["schema"], tuple(references.items()))
        except KeyError:
            raise self._unusable("an answer without a schema") from None

    def _follow(self, answer: dict[str, Any], form: str, found: dict[str, str]) -> None:
        for reference in answer.get("references") or ():
            path = f"subjects/{quote(reference['subject'], safe='')}/versions/{reference['version']}"
            other = self._get(f"{path}?format={form}" if form else path)
            if other is None:
                raise self._unusable(
                    f"no version {reference['version']} of {reference['subject']}, which a schema needs"
                )
            self._follow(other, form, found)
            found.setdefault(reference["name"], other["schema"])

    def _get(self, path: str) -> dict[str, Any] | None:
        retrying = Retrying(
            retry=retry_if_exception(_passes),
            wait=wait_random_exponential(multiplier=0.1, max=2.0),
            stop=stop_after_attempt(_ATTEMPTS),
            reraise=True,
        )
        try:
            return retrying(self._ask, path)
        except urllib.error.HTTPError as error:
            raise self._refusal(error) from None
        except (OSError, HTTPException) as error:
            raise self._no_answer(error) from None

    def _ask(self, path: str) -> dict[str, Any] | None:
        request = urllib.request.Request(f"{self.address.rstrip('/')}/{path}")  # noqa: S310 - settings check the scheme
        request.add_header("Accept", "application/vnd.schemaregistry.v1+json, application/json")
        if self.login is not None:
            # Not redirected: another server shall not get the password.
            coded = base64.b64encode(self.login.encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {coded}")
        context = _trust(self.ca_file) if self.address.casefold().startswith("https:") else None
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS, context=context) as answer:  # noqa: S310 - as above
                found = _json(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                document = _json(error.read()) if error.code == HTTPStatus.NOT_FOUND else None
            if document is not None and document.get("error_code") in _NO_SUCH:
                return None
            raise
        if found is None:
            raise self._unusable("an answer that is no JSON object")
        return found

    def _refusal(self, error: urllib.error.HTTPError) -> SourceFailure:
        said = f"{error.code} {error.reason}"
        if error.code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return SourceFailure("SCHEMA_REGISTRY_LOGIN_REFUSED", registry=self.address, detail=said)
        if _passes(error):
            return SourceFailure("SCHEMA_REGISTRY_UNREACHABLE", registry=self.address, detail=said)
        return self._unusable(said)

    def _no_answer(self, error: OSError | HTTPException) -> SourceFailure:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        name = "SCHEMA_REGISTRY_TLS_FAILED" if isinstance(reason, ssl.SSLError) else "SCHEMA_REGISTRY_UNREACHABLE"
        return SourceFailure(name, registry=self.address, detail=str(reason) or type(reason).__name__)

    def _unusable(self, detail: str) -> SourceFailure:
        return SourceFailure("SCHEMA_REGISTRY_UNUSABLE", registry=self.address, detail=detail)


def _passes(error: BaseException) -> bool:
    """Whether it may help to ask again."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code in _AGAIN
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return isinstance(reason, (OSError, HTTPException)) and not isinstance(reason, ssl.SSLError)


def _json(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


@lru_cache
def _trust(ca_file: str | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca_file)
