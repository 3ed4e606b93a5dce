from __future__ import annotations

from urllib.parse import unquote

import pytest

from penstock.spark.sources.auto_loader.files.discovery import one_of_files_sql, uri_of_path


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("file:/in/a-b_c.!~'()*@&=+$,;1.json", "file:/in/a-b_c.!~'()*@&=+$,;1.json"),
        ("s3a://bucket/a b/ä%41#?[1]{2}", "s3a://bucket/a%20b/ä%2541%23%3F%5B1%5D%7B2%7D"),
        ('^`|"<>\\é—😀', "%5E%60%7C%22%3C%3E%5Cé—😀"),
        ("\t\x85\u00a0\u2003", "%09%C2%85%C2%A0%E2%80%83"),
    ],
)
def test_a_path_is_encoded_as_spark_encodes_it(path: str, uri: str) -> None:  # seen in `_metadata.file_path`
    assert uri_of_path(path) == uri
    assert unquote(uri) == path


def test_a_quote_in_a_name_ends_no_literal() -> None:
    assert one_of_files_sql(["/it's"]) in ("_metadata.file_path IN ('/it\\'s')", "_metadata.file_path IN ('/it''s')")
    assert one_of_files_sql([]) == "false"
    timed = "concat(unix_millis(_metadata.file_modification_time), ' ', _metadata.file_path)"
    assert one_of_files_sql(["17 /a b"]) == f"{timed} IN ('17 /a%20b')"
    assert one_of_files_sql(["/b", "17 /a"]) == f"(_metadata.file_path IN ('/b') OR {timed} IN ('17 /a'))"
