"""Whether a connector keeps what Penstock promises of it: classes to derive tests from, run by pytest.

    class TestSource(SourceConformance):
        format = "sqlite"

        def options(self):
            return {"path": …, "table": "orders"}

        def put(self, ids):
            …  # lets a row with each `id` arrive

Penstock's own connectors pass the same tests. What a test needs of its own, such as an empty table, comes from a
fixture of pytest in the class, with `autouse=True`.
"""

from penstock.testing.connectors.sink import SinkConformance
from penstock.testing.connectors.source import RateLimitConformance, SourceConformance

__all__ = ["RateLimitConformance", "SinkConformance", "SourceConformance"]
