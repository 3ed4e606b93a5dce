"""The server of `tests/unity_server.py` and Penstock's requests, as the published Java client has them.

The client's classes are generated from Unity Catalog's specification. Its server is published as a container only.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from tests.unit.registration.test_unity import ORDERS, catalog_of, registration
from tests.unity_server import UnityServer

from penstock.registration.table import Owner
from penstock.spark._jvm import jvm


def _client(spark: SparkSession, server: UnityServer) -> Any:
    client = jvm(spark).io.unitycatalog.client.ApiClient()
    host, _, port = server.uri.removeprefix("http://").partition(":")
    client.setScheme("http")
    client.setHost(host)
    client.setPort(int(port))
    return client


def test_requests_and_answers_are_those_of_the_published_client(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "orders"
    spark.sql(
        "SELECT 1 AS Id, CAST(1.5 AS DECIMAL(10, 2)) AS amount, array(named_struct('a', map('k', 1))) AS nested, "
        "current_timestamp() AS at, 'x' AS day"
    ).write.format("delta").partitionBy("day").save(str(path))
    model = jvm(spark).io.unitycatalog.client.delta.model
    types = {"schemas": jvm(spark).io.unitycatalog.client.model.CreateSchema, "tables": model.DeltaCreateTableRequest}
    with UnityServer() as server, catalog_of(server).connect() as session:
        session.register(registration(path))
        client = _client(spark, server)
        api = jvm(spark).io.unitycatalog.client.delta.api.DeltaTablesApi(client)
        loaded = api.loadTable("main", "shop", "orders").getMetadata()
        assert loaded.getTableType().getValue() == "EXTERNAL"
        assert list(loaded.getPartitionColumns()) == ["day"]
        assert [each.getName() for each in loaded.getColumns().getFields()] == ["Id", "amount", "nested", "at", "day"]
        spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN city STRING COMMENT 'of the shop'")
        session.register(registration(path))
        session.deactivate(ORDERS, Owner("orders", "s"))
        session.register(registration(path))
        assert api.loadTable("main", "shop", "orders").getMetadata().getColumns().getFields().size() == 6
        session.remove(ORDERS, Owner("orders", "s"))
        with pytest.raises(Py4JJavaError) as gone:
            api.loadTable("main", "shop", "orders")
        assert gone.value.java_exception.getCode() == 404
        posted = [(where, body) for method, where, body in server.requests if method == "POST"]
    features = jvm(spark).com.fasterxml.jackson.databind.DeserializationFeature
    reader = client.getObjectMapper().configure(features.FAIL_ON_UNKNOWN_PROPERTIES, True)
    assert len(posted) == 6, "one table that was created in vain, a schema, and four requests"
    for where, body in posted:
        kind = types.get(where.rpartition("/")[2], model.DeltaUpdateTableRequest)
        reader.readValue(json.dumps(body), kind().getClass())
