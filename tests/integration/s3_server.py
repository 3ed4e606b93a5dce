"""An S3 on loopback (moto's server), started and stopped by the tests that need it."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import boto3
from tests.integration.moto_server import ACCESS_KEY, REGION, SECRET_KEY, MotoServer


class S3Server(MotoServer):
    """One server, with no bucket; see `StoreServer`."""

    missing = "s3a://no-such-bucket"

    SERVICE = "s3"
    MODULE = ("moto.server", "-H", "127.0.0.1", "-p")
    CLIENT: ClassVar[Mapping[str, Any]] = {"s3": {"addressing_style": "path"}}

    def settings(self, **more: str) -> dict[str, str]:
        """Returns the settings of a session that reads this server, in the spelling of `spark_conf`."""
        chosen = {
            "endpoint": self.endpoint,
            "endpoint.region": REGION,
            "path.style.access": "true",
            "access.key": ACCESS_KEY,
            "secret.key": SECRET_KEY,
            **more,
        }
        return {f"spark.hadoop.fs.s3a.{key}": value for key, value in chosen.items()}

    def bucket(self, name: str) -> str:
        """Creates a bucket; returns its URI."""
        self.client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
        return f"s3a://{name}"

    def settings_at(self, address: str, *, tls: bool = False) -> dict[str, str]:
        """See `StoreServer`."""
        return self.settings(endpoint=f"{'https' if tls else 'http'}://{address}")

    def delete_bucket(self, name: str) -> None:
        """See `StoreServer`."""
        self.client.delete_bucket(Bucket=name)

    def delete(self, bucket: str, key: str) -> None:
        """See `StoreServer`."""
        self.client.delete_object(Bucket=bucket, Key=key)

    def content(self, bucket: str, key: str) -> bytes:
        """See `StoreServer`."""
        return bytes(self.client.get_object(Bucket=bucket, Key=key)["Body"].read())

    def modified(self, bucket: str, key: str) -> float:
        """See `StoreServer`."""
        return float(self.client.head_object(Bucket=bucket, Key=key)["LastModified"].timestamp())

    def put(self, bucket: str, key: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Puts a file of JSON lines."""
        self.client.put_object(Bucket=bucket, Key=key, Body="".join(f"{json.dumps(row)}\n" for row in rows).encode())

    def keys(self, bucket: str) -> list[str]:
        """Returns the keys of a bucket, at most a thousand, with those that stand for folders."""
        return [each["Key"] for each in self.client.list_objects_v2(Bucket=bucket).get("Contents", [])]

    @contextmanager
    def refusing(self) -> Iterator[dict[str, str]]:
        """Refuses the key of the settings: nobody has made it."""
        with self.checking_credentials():
            yield self.settings()

    def key(self, user: str) -> tuple[str, str]:
        """Makes a user who may do everything in S3; returns the key and the secret."""
        iam = boto3.client(
            "iam",
            region_name=REGION,
            endpoint_url=self.endpoint,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
        )
        iam.create_user(UserName=user)
        allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
        iam.put_user_policy(UserName=user, PolicyName="all", PolicyDocument=json.dumps(allowed))
        made = iam.create_access_key(UserName=user)["AccessKey"]
        return made["AccessKeyId"], made["SecretAccessKey"]

    @contextmanager
    def checking_credentials(self) -> Iterator[None]:
        """Refuses whoever has no known key, as AWS does; moto lets everybody in by itself."""
        self._authenticate_after(0)
        try:
            yield
        finally:
            self._authenticate_after(10**9)

    def _authenticate_after(self, requests: int) -> None:
        request = urllib.request.Request(f"{self.endpoint}/moto-api/reset-auth", data=str(requests).encode())
        request.add_header("Content-Type", "text/plain")  # else the server takes the number for a form
        urllib.request.urlopen(request, timeout=10).close()
