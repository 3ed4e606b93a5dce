"""The JSON API of Google Cloud Storage, with logins by Google's own library, as its connector is set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from penstock.errors import ConfigError
from penstock.storage.stores.gcs.settings import GcsLogin, GcsPlace, endpoint, key_file, login
from penstock.storage.stores.settings import client_key

if TYPE_CHECKING:
    from google.auth.credentials import Credentials
    from google.auth.transport.requests import AuthorizedSession

NOT_FOUND: Final = 404
OVERTAKEN: Final = 412
"""The object has another generation."""

_SECONDS: Final = (5, 20)
_RETRIES: Final = 2
_BUSY: Final = (429, 500, 502, 503, 504)
_SCOPE: Final = "https://www.googleapis.com/auth/devstorage.read_write"


class GcsAnswerError(Exception):
    """What the store says when it does not do what it was asked; `status` 0 when it is not about an object."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def is_installed() -> bool:
    """Whether the extra `gcs` is there."""
    return all(find_spec(name) is not None for name in ("google.auth", "requests")) if find_spec("google") else False


class GcsClient:
    """Makes the requests to the store; they raise GcsAnswerError.

    Raises:
        ConfigError: STORAGE_EXTRA_MISSING, OBJECT_STORE_CREDENTIALS_MISSING, SECRET_NOT_FOUND.
    """

    def __init__(self, uri: str) -> None:
        try:
            self._session, self._url = _session(client_key())
        except ImportError:
            raise ConfigError("STORAGE_EXTRA_MISSING", uri=uri, store="Google Cloud", extra="gcs") from None

    def metadata(self, place: GcsPlace) -> Mapping[str, Any]:
        """Returns what is known of an object."""
        return self._ask("GET", _path(place)).json()  # type: ignore[no-any-return]

    def content(self, place: GcsPlace, bytes_range: str = "") -> tuple[bytes, str]:
        """Returns the content of an object, or a range of it as in the header, and its generation."""
        headers = {"Range": bytes_range} if bytes_range else {}
        answer = self._ask("GET", _path(place), params={"alt": "media"}, headers=headers)
        return answer.content, str(answer.headers["x-goog-generation"])

    def put(self, place: GcsPlace, content: bytes, generation: str | None = None) -> str:
        """Writes an object, perhaps only over a generation, of which 0 is none; returns the new one."""
        condition = {} if generation is None else {"ifGenerationMatch": generation}
        params = {"uploadType": "media", "name": place.key, **condition}
        path = f"/upload/storage/v1/b/{place.bucket}/o"
        headers = {"Content-Type": "application/octet-stream"}
        return str(self._ask("POST", path, params=params, data=content, headers=headers).json()["generation"])

    def copy(self, source: GcsPlace, target: GcsPlace) -> None:
        """Copies an object inside of the store, for a large one in several steps."""
        path, token = f"{_path(source)}/rewriteTo{_path(target).removeprefix('/storage/v1')}", ""
        while True:
            answer = self._ask("POST", path, params={"rewriteToken": token} if token else {}, json={}).json()
            if answer["done"]:
                return
            token = answer["rewriteToken"]

    def delete(self, place: GcsPlace) -> None:
        """Deletes an object."""
        self._ask("DELETE", _path(place))

    def pages(self, place: GcsPlace, **params: str) -> Iterator[Mapping[str, Any]]:
        """Lists the objects of which the names begin with the key, with the parameters of the API."""
        path, token = f"/storage/v1/b/{place.bucket}/o", ""
        while True:
            query = {"prefix": place.key, **params, **({"pageToken": token} if token else {})}
            page = self._ask("GET", path, params=query).json()
            yield page
            token = page.get("nextPageToken", "")
            if not token:
                return

    def _ask(self, method: str, path: str, **arguments: Any) -> Any:
        from google.auth.exceptions import GoogleAuthError
        from requests import RequestException

        try:
            answer = self._session.request(method, f"{self._url}{path}", timeout=_SECONDS, **arguments)
        except GoogleAuthError as error:
            raise GcsAnswerError(0, _login_failure(error)) from error
        except RequestException as error:
            raise GcsAnswerError(0, f"{error} (ServiceRequestError)") from error
        if answer.ok:
            return answer
        status, message = answer.status_code, _message(answer)
        no_bucket = status == NOT_FOUND and (path.endswith("/o") or "bucket does not exist" in message)
        code = "NoSuchBucket" if no_bucket else f"{status} {answer.reason}"
        raise GcsAnswerError(0 if no_bucket else status, f"{message} ({code})")


@lru_cache(maxsize=16)
def _session(_key: object) -> tuple[AuthorizedSession, str]:
    """One session for the settings in use, which keeps its connections."""
    from google.auth.transport.requests import AuthorizedSession
    from requests.adapters import HTTPAdapter
    from urllib3.util.retry import Retry

    url = endpoint()
    session = AuthorizedSession(_credentials(url))
    retries = Retry(_RETRIES, allowed_methods=None, status_forcelist=_BUSY, backoff_factor=0.5, raise_on_status=False)
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=retries))
    return session, url


def _credentials(url: str) -> Credentials:
    import google.auth
    from google.auth import compute_engine, credentials
    from google.auth.exceptions import GoogleAuthError
    from google.oauth2 import service_account

    try:
        match login():
            case GcsLogin.KEY_FILE:
                found: Credentials = service_account.Credentials.from_service_account_file(key_file(), scopes=[_SCOPE])
                return found
            case GcsLogin.MACHINE:
                return compute_engine.Credentials()
            case GcsLogin.ANONYMOUS:
                return credentials.AnonymousCredentials()
            case GcsLogin.DEFAULT:
                return google.auth.default(scopes=[_SCOPE])[0]
    except (GoogleAuthError, OSError, ValueError) as error:
        raise ConfigError("OBJECT_STORE_CREDENTIALS_MISSING", detail=f"{url}: {error}") from error


def _login_failure(error: Exception) -> str:
    from google.auth.exceptions import RefreshError, TransportError

    if isinstance(error, TransportError):
        return f"{error} (ServiceRequestError)"
    return f"{error.args[0]} (401 {type(error).__name__})" if isinstance(error, RefreshError) else str(error)


def _message(answer: Any) -> str:
    try:
        return str(answer.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        lines = str(answer.text).strip().splitlines()
        return lines[0] if lines else "no message"


def _path(place: GcsPlace) -> str:
    return f"/storage/v1/b/{place.bucket}/o/{quote(place.key, safe='')}"
