from __future__ import annotations

import pytest

from penstock.spark.failures.clients import object_store_failure
from penstock.spark.failures.translate import translate_failure

S3A = "org.apache.hadoop.fs.s3a."
MISSING = "java.lang.ClassNotFoundException"
SDK = "software.amazon.awssdk.core.exception.SdkClientException"
DENIED = "java.nio.file.AccessDeniedException"


@pytest.mark.parametrize(
    ("causes", "condition", "facts"),
    [
        (
            [("java.lang.RuntimeException", f"{MISSING}: Class {S3A}S3AFileSystem not found")],
            "OBJECT_STORE_CLIENT_MISSING",
            {"scheme": "s3a"},
        ),
        (
            [(MISSING, "Class org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem not found")],
            "OBJECT_STORE_CLIENT_MISSING",
            {"scheme": "abfss"},
        ),
        (
            [("org.apache.hadoop.fs.UnsupportedFileSystemException", 'No FileSystem for scheme "gs"')],
            "OBJECT_STORE_CLIENT_MISSING",
            {"scheme": "gs"},
        ),
        (
            [(f"{S3A}UnknownStoreException", "`s3a://lake/': getFileStatus: no such bucket\nmore")],
            "OBJECT_STORE_BUCKET_NOT_FOUND",
            {"detail": "`s3a://lake/': getFileStatus: no such bucket"},
        ),
        (
            [(DENIED, "lake: no credentials"), (f"{S3A}auth.NoAuthWithAWSException", "No AWS Credentials provided")],
            "OBJECT_STORE_CREDENTIALS_MISSING",
            {"detail": "No AWS Credentials provided"},
        ),
        (
            [
                (DENIED, "lake: none"),
                (
                    f"{S3A}auth.NoAuthWithAWSException",
                    "Unable to load credentials from any of the providers in the chain A",
                ),
            ],
            "OBJECT_STORE_CREDENTIALS_MISSING",
            {"detail": "Unable to load credentials from any of the providers"},
        ),
        (
            [(DENIED, "s3a://lake/x: software.amazon.awssdk.services.s3.model.S3Exception: (Status Code: 403)")],
            "OBJECT_STORE_ACCESS_DENIED",
            {"detail": "s3a://lake/x: software.amazon.awssdk.services.s3.model.S3Exception: (Status Code: 403)"},
        ),
        *(
            ([(f"{S3A}{kind}", words), ("software.amazon.awssdk.services.s3.model.S3Exception", words)], name, facts)
            for kind, words, name, facts in (
                (
                    "AWSBadRequestException",
                    "The provided token has expired. (Service: S3, Status Code: 400):ExpiredToken",
                    "OBJECT_STORE_CREDENTIALS_EXPIRED",
                    {"detail": "The provided token has expired. (Service: S3, Status Code: 400):ExpiredToken"},
                ),
                (
                    "AWSRedirectException",
                    "Received permanent redirect response to [eu-west-1].",
                    "OBJECT_STORE_WRONG_REGION",
                    {"detail": "Received permanent redirect response to [eu-west-1].", "region": "eu-west-1"},
                ),
            )
        ),
        ([(f"{S3A}AWSClientIOException", "no answer")], "STORAGE_FAILED", {"detail": "no answer"}),
        *(
            ([(f"{S3A}AWSClientIOException", "outer"), (SDK, words)], "OBJECT_STORE_TLS_FAILED", {"detail": words})
            for words in (
                "Unable to execute HTTP request: PKIX path building failed: no valid certification path",
                "Certificate for <lake> doesn't match any of the subject alternative names: [elsewhere.example]",
                "Unable to execute HTTP request: Unsupported or unrecognized SSL message",
            )
        ),
        (
            [(f"{S3A}AWSClientIOException", "outer"), (SDK, "Remote host terminated the handshake")],
            "STORAGE_FAILED",
            {"detail": "outer"},
        ),
    ],
)
def test_failures(causes: list[tuple[str, str]], condition: str, facts: dict[str, str]) -> None:
    error = object_store_failure([("py4j.Outer", "outer"), *causes])
    assert error is not None
    assert (error.condition, error.facts) == (condition, facts)


ABFS = "org.apache.hadoop.fs.azurebfs."
GOOGLE = "com.google.cloud.hadoop.repackaged.ossgcs.com.google.cloud.storage.StorageException"


@pytest.mark.parametrize(
    ("causes", "condition"),
    [
        (
            [
                (
                    f"{ABFS}contracts.exceptions.KeyProviderException",
                    'for a key ="null": Invalid configuration value detected for fs.azure.account.key',
                )
            ],
            "OBJECT_STORE_CREDENTIALS_MISSING",
        ),
        (
            [
                (
                    f"{ABFS}oauth2.AzureADAuthenticator$HttpException",
                    "Server returned HTTP response code: 401 for URL: x",
                )
            ],
            "OBJECT_STORE_ACCESS_DENIED",
        ),
        (
            [(f"{ABFS}contracts.exceptions.AbfsRestOperationException", "Operation failed: no, 403, HEAD, https://a")],
            "OBJECT_STORE_ACCESS_DENIED",
        ),
        (
            [
                (
                    f"{ABFS}contracts.exceptions.AbfsRestOperationException",
                    "The specified filesystem does not exist., 404, HEAD",
                )
            ],
            "OBJECT_STORE_BUCKET_NOT_FOUND",
        ),
        (
            [
                (f"{ABFS}contracts.exceptions.AbfsRestOperationException", "-1"),
                ("javax.net.ssl.SSLException", "PKIX path"),
            ],
            "OBJECT_STORE_TLS_FAILED",
        ),
        (
            [
                (f"{ABFS}contracts.exceptions.AbfsRestOperationException", "-1"),
                ("java.net.ConnectException", "refused"),
            ],
            "STORAGE_FAILED",
        ),
        ([(GOOGLE, "ComputeEngineCredentials cannot find the metadata server.")], "OBJECT_STORE_CREDENTIALS_MISSING"),
        ([(GOOGLE, "Error getting access token for service account: 401 Unauthorized")], "OBJECT_STORE_ACCESS_DENIED"),
        ([(GOOGLE, "The specified bucket does not exist.")], "OBJECT_STORE_BUCKET_NOT_FOUND"),
        ([(GOOGLE, "Error getting access token: Connection refused")], "STORAGE_FAILED"),
    ],
)
def test_failures_of_azure_and_google(causes: list[tuple[str, str]], condition: str) -> None:
    error = object_store_failure([("py4j.Outer", "outer"), *causes])
    assert error is not None
    assert error.condition == condition


@pytest.mark.parametrize(
    "cause",
    [
        (DENIED, "/srv/data/secret.json"),
        (MISSING, "Class com.example.Mine not found"),
        ("javax.net.ssl.SSLHandshakeException", "PKIX path building failed"),
        ("java.io.FileNotFoundException", "No such file or directory: s3a://lake/x"),
    ],
)
def test_other_failures_are_left_to_others(cause: tuple[str, str]) -> None:
    assert object_store_failure([cause]) is None


def test_a_failure_of_delta_rs_within_a_flow_is_the_stores() -> None:
    said = "Kernel error -> Generic S3 error\n  ↳ <Error><Code>ExpiredToken</Code><Message>It is old.</Message></Error>"
    error = translate_failure(ValueError(said), dataset="orders", flow="orders")
    assert (error.condition, error.dataset) == ("OBJECT_STORE_CREDENTIALS_EXPIRED", "orders")
    assert error.facts["detail"] == "orders: It is old. (ExpiredToken)"
