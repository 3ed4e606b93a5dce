"""A PostgreSQL that shows a certificate: taken where it is that of the host and of somebody trusted, else refused."""

from __future__ import annotations

from pathlib import Path

from tests.postgres_server import PostgresServer
from tests.processes import wait_until
from tests.spark.pipeline_project import PipelineProject


def test_a_certificate_must_be_trusted_and_that_of_the_host(
    sinks: PipelineProject, postgres: PostgresServer, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign.pem"
    foreign.write_text(postgres.offer_tls("elsewhere.example").read_text())
    try:
        own = postgres.offer_tls("localhost")
        wait_until(lambda: postgres.rows("SHOW ssl_cert_file") == [(str(own),)], timeout=10, what="the certificate")
        by_name = postgres.url().replace("127.0.0.1", "localhost")
        targets = {
            "trusted": {"url": by_name, "sslrootcert": str(own)},
            "stranger": {"url": by_name, "sslrootcert": str(foreign)},
            "other_host": {"url": postgres.url(), "sslrootcert": str(own)},
        }
        declared = ["from sinks import orders, sink"]
        for name, options in targets.items():
            declared.append(f"sink({name!r}, sslmode='verify-full', **{options!r})")
            declared.append(f"@ps.append_flow(target={name!r}, name='to_{name}')")
            declared.append("def flow(): return orders()")
        sinks.write("\n".join(declared))
        sinks.arrive("a", [{"id": 1, "amount": 5, "at": 1}])
        refused = {str(error.dataset): error.condition for error in sinks.run().errors}
        assert refused == {"shop.stranger": "JDBC_TLS_REFUSED", "shop.other_host": "JDBC_TLS_REFUSED"}
        assert postgres.rows("SELECT id FROM shop.trusted") == [(1,)]
    finally:
        postgres.refuse_tls()
