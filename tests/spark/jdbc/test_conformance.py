"""The jdbc sink passes the tests that Penstock gives to other connectors."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.postgres_server import PASSWORD, PostgresServer

from penstock.testing.connectors import SinkConformance

pytestmark = pytest.mark.usefixtures("spark")


class TestAppend(SinkConformance):
    format = "jdbc"
    secret = PASSWORD

    @pytest.fixture(autouse=True)
    def database(self, postgres: PostgresServer, schema: str) -> None:
        self.postgres, self.schema = postgres, schema

    def options(self) -> Mapping[str, str]:
        return {**self.postgres.options, "dbtable": f"{self.schema}.rows"}

    def stored(self) -> list[int]:
        return [int(row[0]) for row in self.postgres.rows(f"SELECT id FROM {self.schema}.rows")]


@pytest.mark.slow  # as TestAppend; what is different, tests of the sink tell
class TestUpsert(TestAppend):
    def options(self) -> Mapping[str, str]:
        return {**super().options(), "mode": "upsert", "keys": "id"}

    def texts(self) -> Mapping[int, str]:
        return {int(row[0]): str(row[1]) for row in self.postgres.rows(f"SELECT id, text FROM {self.schema}.rows")}
