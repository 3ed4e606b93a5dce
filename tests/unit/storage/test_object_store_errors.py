from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import SourceLocation
from penstock.storage.stores.errors import object_store_error
from penstock.storage.stores.settings import use_store_settings

PLACE = "s3a://lake/orders"
NO_BUCKET = """Generic S3 error
  \x1b[31m↳\x1b[0m GET http://127.0.0.1:9000/lake?list-type=2 in 43ms - Server returned non-2xx status code
    \x1b[31m↳\x1b[0m 404 Not Found
     \x1b[31m↳\x1b[0m <?xml version="1.0"?>
<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message></Error>"""
DENIED = """Kernel error -> The operation lacked the necessary privileges to complete for path orders/_delta_log
  ↳ Error performing GET http://127.0.0.1:9000/lake/orders in 3ms - Server returned non-2xx status code
   ↳ 403 Forbidden
    ↳ <Error><Code>InvalidAccessKeyId</Code><Message>The AWS Access Key Id does not exist.</Message></Error>"""
NO_KEYS = """Generic S3 error
  ↳ Error performing PUT http://169.254.169.254/latest/api/token in 2ms - Server returned non-2xx status code
   ↳ 403 Forbidden"""
GONE = """Generic S3 error
  ↳ Error performing GET http://127.0.0.1:1/lake in 108ms, after 1 retries - HTTP error
    ↳ error sending request
     ↳ Connection refused (os error 111)"""
STRANGER = """Generic S3 error
  ↳ Error performing GET https://127.0.0.1:9000/lake in 3.9s, after 10 retries - HTTP error
    ↳ error sending request
     ↳ client error (Connect)
      ↳ invalid peer certificate
       ↳ UnknownIssuer"""
NO_TLS = """Generic S3 error
  ↳ error sending request
   ↳ received corrupt message of type InvalidContentType"""
OF_AZURE = "Server failed to authenticate the request. (403 AuthenticationFailed)"
OF_DELTA_RS_AT_AZURE = """Generic MicrosoftAzure error
  ↳ Error performing GET http://127.0.0.1:1/shop/lake in 3ms - Server returned non-2xx status code
   ↳ 404 Not Found
    ↳ <Error><Code>ContainerNotFound</Code><Message>The specified container does not exist.</Message></Error>"""
OF_CURL = "When listing objects: AWS Error NETWORK_CONNECTION during ListObjectsV2 operation: curlCode: {}"
OF_BOTOCORE = "SSL validation failed for https://127.0.0.1:9000/lake/x {}"


@pytest.mark.parametrize(
    ("text", "condition", "detail"),
    [
        (NO_BUCKET, "OBJECT_STORE_BUCKET_NOT_FOUND", "The specified bucket does not exist (NoSuchBucket)"),
        (
            "Received redirect without LOCATION, this normally indicates an incorrectly configured region",
            "OBJECT_STORE_WRONG_REGION",
            "Received redirect without LOCATION, this normally indicates an incorrectly configured region",
        ),
        (DENIED, "OBJECT_STORE_ACCESS_DENIED", "The AWS Access Key Id does not exist. (InvalidAccessKeyId)"),
        (
            "When listing objects: AWS Error ACCESS_DENIED during ListObjectsV2 operation: No response body.",
            "OBJECT_STORE_ACCESS_DENIED",
            "When listing objects: AWS Error ACCESS_DENIED during ListObjectsV2 operation: No response body.",
        ),
        (OF_AZURE, "OBJECT_STORE_ACCESS_DENIED", OF_AZURE),
        (
            OF_DELTA_RS_AT_AZURE,
            "OBJECT_STORE_BUCKET_NOT_FOUND",
            "The specified container does not exist. (ContainerNotFound)",
        ),
        *(
            (text, condition, text)
            for text, condition in (
                ("The specified container does not exist. (404 ContainerNotFound)", "OBJECT_STORE_BUCKET_NOT_FOUND"),
                ("no authority (ClientAuthenticationError)", "OBJECT_STORE_ACCESS_DENIED"),
                ("The server is busy. (503 ServerBusy)", "STORAGE_FAILED"),
                ("Connection refused (ServiceRequestError)", "STORAGE_FAILED"),
                ("The read operation timed out (ServiceResponseTimeoutError)", "STORAGE_FAILED"),
            )
        ),
        *(
            (text, condition, text)
            for condition, texts in {
                "OBJECT_STORE_CREDENTIALS_EXPIRED": (
                    "An error occurred (ExpiredToken) when calling the GetObject operation: The token has expired.",
                    "When listing objects: AWS Error EXPIRED_TOKEN during ListObjectsV2 operation",
                    "Error when retrieving token from sso: Token has expired and refresh failed",
                    "Signature not valid in the specified time frame (403 AuthenticationFailed)",
                ),
                "OBJECT_STORE_CLOCK_SKEWED": ("An error occurred (RequestTimeTooSkewed) when calling PutObject",),
                "OBJECT_STORE_WRONG_REGION": ("AWS Error UNKNOWN (HTTP status 301) during HeadObject operation",),
            }.items()
            for text in texts
        ),
        (NO_KEYS, "OBJECT_STORE_CREDENTIALS_MISSING", "403 Forbidden"),
        (GONE, "STORAGE_FAILED", "Connection refused (os error 111)"),
        (STRANGER, "OBJECT_STORE_TLS_FAILED", "UnknownIssuer"),
        (NO_TLS, "OBJECT_STORE_TLS_FAILED", "received corrupt message of type InvalidContentType"),
        *(
            (text, condition, text)
            for condition, form, words in (
                ("OBJECT_STORE_TLS_FAILED", OF_CURL, "60, SSL peer certificate or SSH remote key was not OK"),
                ("OBJECT_STORE_TLS_FAILED", OF_CURL, "35, SSL connect error; Details: wrong version number"),
                ("STORAGE_FAILED", OF_CURL, "35, SSL connect error; Details: Connection reset by peer"),
                ("OBJECT_STORE_TLS_FAILED", OF_BOTOCORE, "[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate"),
                ("OBJECT_STORE_TLS_FAILED", OF_BOTOCORE, "hostname '127.0.0.1' doesn't match 'elsewhere.example'"),
                ("OBJECT_STORE_TLS_FAILED", OF_BOTOCORE, "[SSL: WRONG_VERSION_NUMBER] wrong version number"),
                ("STORAGE_FAILED", OF_BOTOCORE, "EOF occurred in violation of protocol"),
            )
            for text in [form.format(words)]
        ),
    ],
)
def test_what_the_store_says_has_a_condition(text: str, condition: str, detail: str) -> None:
    error = object_store_error(PLACE, OSError(text))
    assert error is not None
    assert (error.condition, error.facts["detail"]) == (condition, f"{PLACE}: {detail}")


def test_right_region_is_named_with_the_line_of_the_setting(tmp_path: Path) -> None:
    file = tmp_path / "penstock.yml"
    file.write_text("name: shop\nspark_conf:\n  spark.hadoop.fs.s3a.endpoint.region: us-east-1\n")
    use_store_settings(dict, file=SourceLocation(str(file)))
    try:
        for text in (
            "<Code>AuthorizationHeaderMalformed</Code><Message>no</Message><Region>eu-west-1</Region>",
            "the region 'us-east-1' is wrong; expecting 'eu-west-1'",
            "HTTP status 301. The configured region is 'us-east-1' while the bucket is located in 'eu-west-1'",
            "Received permanent redirect response to [eu-west-1]. This likely indicates that the endpoint is wrong",
        ):
            error = object_store_error(PLACE, OSError(text))
            assert error is not None
            assert (error.condition, error.facts["region"]) == ("OBJECT_STORE_WRONG_REGION", "eu-west-1")
            assert error.location == SourceLocation(str(file), 3)
    finally:
        use_store_settings(dict)


def test_what_is_wrong_with_a_table_is_not_the_stores_fault() -> None:
    assert object_store_error(PLACE, ValueError("Invalid JSON in log record, version 3")) is None
