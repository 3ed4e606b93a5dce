"""Whole objects of S3, written only where no other was faster: what Python's file systems have no word for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

from penstock.errors import ConfigError, PenstockError
from penstock.storage.stores.errors import again_if_expired, object_store_error
from penstock.storage.stores.s3.settings import s3_arguments, s3_encryption
from penstock.storage.stores.settings import client_key
from penstock.storage.stores.store import ABSENT, OvertakenError

if TYPE_CHECKING:
    from botocore.client import BaseClient

_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 20.0
_ATTEMPTS: Final = 3
_OVERTAKEN: Final = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey", "412", "409"})


class S3Object:
    """One object of S3, under the settings of S3A: see `StoredObject`.

    Raises:
        ConfigError: STORAGE_EXTRA_MISSING, SECRET_NOT_FOUND, OBJECT_STORE_ENCRYPTION_UNSUPPORTED.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        bucket, _, key = uri.partition("://")[2].partition("/")
        self._place = {"Bucket": bucket, "Key": key}
        self._encryption = _header_arguments(s3_encryption(uri))
        try:
            _client(bucket, client_key())
        except ImportError:
            raise ConfigError("STORAGE_EXTRA_MISSING", uri=uri, store="S3", extra="s3") from None

    def read(self) -> tuple[bytes, str]:
        """Returns the content and its version; nothing, and ABSENT, when the object is not there."""
        try:
            answer = self._call("get_object")
        except OvertakenError:
            return b"", ABSENT
        return answer["Body"].read(), str(answer["ETag"])

    def put(self, content: bytes) -> None:
        """Replaces the object, whatever it is."""
        self._call("put_object", Body=content, **self._encryption)

    def put_over(self, content: bytes, version: str) -> str:
        """Replaces that version of the object, or creates it over ABSENT; returns the new version.

        Raises:
            OvertakenError: it is another version by now.
        """
        condition = {"IfNoneMatch": "*"} if version == ABSENT else {"IfMatch": version}
        return str(self._call("put_object", Body=content, **condition, **self._encryption)["ETag"])

    def _call(self, operation: str, **arguments: Any) -> Mapping[str, Any]:
        return again_if_expired(lambda: self._ask(operation, **arguments))

    def _ask(self, operation: str, **arguments: Any) -> Mapping[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            client = _client(self._place["Bucket"], client_key())
            return cast("Mapping[str, Any]", getattr(client, operation)(**self._place, **arguments))
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _OVERTAKEN:
                raise OvertakenError(self.uri) from error
            raise self._failure(error) from error
        except BotoCoreError as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> PenstockError:
        return object_store_error(self.uri, error) or ConfigError("STORAGE_NOT_WRITABLE", path=self.uri, reason=error)


def _header_arguments(encryption: Mapping[str, str]) -> dict[str, str]:
    names = {"AWS_SERVER_SIDE_ENCRYPTION": "ServerSideEncryption", "AWS_SSE_KMS_KEY_ID": "SSEKMSKeyId"}
    return {names[key]: value for key, value in encryption.items()}


@lru_cache(maxsize=16)
def _client(bucket: str, _key: object) -> BaseClient:
    """One client for the settings in use, since making one takes half a second; botocore reads files of logins once."""
    import botocore.session
    from botocore import UNSIGNED
    from botocore.config import Config

    settings = s3_arguments(bucket)
    endpoint = f"{settings['scheme']}://{settings['endpoint_override']}" if "endpoint_override" in settings else None
    virtual = settings.get("force_virtual_addressing", True)
    config = Config(
        signature_version=UNSIGNED if settings.get("anonymous") else None,
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"},
        s3={"addressing_style": "virtual" if virtual else "path"},
        request_checksum_calculation="when_required",  # stores other than AWS know none of the newer ones
        response_checksum_validation="when_required",
    )
    return botocore.session.Session().create_client(
        "s3",
        region_name=settings.get("region"),
        endpoint_url=endpoint,
        aws_access_key_id=settings.get("access_key"),
        aws_secret_access_key=settings.get("secret_key"),
        aws_session_token=settings.get("session_token"),
        config=config,
    )
