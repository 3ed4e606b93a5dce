"""A second S3 on loopback (versitygw): it stores files, and is stricter than moto."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.go_programs import go_program
from tests.integration.moto_server import ACCESS_KEY, REGION, SECRET_KEY
from tests.integration.s3_server import S3Server
from tests.processes import Server


class VersityServer(S3Server):
    """One server, with no bucket; see `StoreServer`."""

    PROGRAM: Final = ("github.com/versity/versitygw/cmd/versitygw", "v1.8.0")

    def _program(self, folder: Path) -> Server:
        program = go_program(*self.PROGRAM)
        for name in ("objects", "metadata"):
            (folder / name).mkdir()
        options = ["--port", f"127.0.0.1:{self.port}", "--region", REGION, "--quiet"]
        backend = ["posix", "--sidecar", str(folder / "metadata"), str(folder / "objects")]
        environ = {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
        return Server("versitygw", [str(program), *options, *backend], folder / "versitygw.log", environ)

    @contextmanager
    def refusing(self) -> Iterator[dict[str, str]]:
        """Gives settings with a secret that is not the key's."""
        yield self.settings(**{"secret.key": "another-secret-of-the-tests"})
