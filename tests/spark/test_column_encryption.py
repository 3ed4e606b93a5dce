"""The page on encrypted columns: its pipeline encrypts, its query decrypts, and the key is in no file."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf
from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import PipelineInvalid

KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
_CODE = [block.text for block in blocks(ROOT / "docs/how-to/column-encryption.md") if block.kind == "python"]


def _files_with(folder: Path, text: str) -> list[Path]:
    forms = (text.encode(), base64.b64encode(text.encode())[:24], text.encode().hex().encode())
    return [file for file in folder.rglob("*") if file.is_file() and any(form in file.read_bytes() for form in forms)]


def test_the_pages_pipeline_keeps_the_value_and_the_key_out_of_the_storage(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline, query = _CODE
    monkeypatch.setenv("CUSTOMERS_KEY", KEY)
    project.write(pipeline)
    (project.directory / "data").mkdir()
    project.arrive(
        "1", [{"id": 1, "email": "Ada@example.com"}, {"id": 2, "email": "ada@EXAMPLE.com"}], "data/customers"
    )
    project.settings["secrets"] = '{customers_key: "${env:CUSTOMERS_KEY}"}'
    assert project.run().errors == ()
    storage = project.directory / ".penstock"
    assert _files_with(storage, KEY) == []
    assert _files_with(storage, "example.com") == []

    stored = project.spark.read.format("delta").load(str(project.path("customers")))
    assert stored.select("email_hash").distinct().count() == 1
    assert stored.select("email").distinct().count() == 2, "another ciphertext each time"
    given: dict[str, Any] = {"spark": project.spark, "key": sf.lit(KEY)}
    exec(query.replace(".penstock", str(storage)), given)
    shown = {row.email for row in given["shown"].collect()}
    assert shown == {"Ada@example.com", "ada@EXAMPLE.com"}
    with pytest.raises(PySparkException, match="AES_CRYPTO_ERROR"):
        stored.select(sf.aes_decrypt("email", sf.lit("9" + KEY[1:]))).collect()


def test_without_the_key_nothing_is_written(project: PipelineProject) -> None:
    project.write(_CODE[0])
    (project.directory / "data").mkdir()
    project.arrive("1", [{"id": 1, "email": "ada@example.com"}], "data/customers")
    project.settings["secrets"] = '{customers_key: "${env:A_KEY_THAT_IS_GONE}"}'
    with pytest.raises(PipelineInvalid) as refused:
        project.run()
    assert [error.condition for error in refused.value.errors] == ["SECRET_NOT_FOUND"]
    assert not project.path("customers").exists()
