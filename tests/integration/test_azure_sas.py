"""Azure by a shared access signature instead of the account's key: for each of Penstock's own clients."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from azure.storage.blob import AccountSasPermissions, ResourceTypes, generate_account_sas
from deltalake import write_deltalake
from tests.integration.azure_server import ACCOUNT, HOST, KEY, AzureServer
from tests.integration.store_server import used_by_this_process

from penstock.storage import Storage, StorageLock
from penstock.storage.delta.table import open_delta_table, storage_options


def _signature() -> str:
    return generate_account_sas(
        ACCOUNT,
        KEY,
        ResourceTypes(container=True, object=True),
        AccountSasPermissions(read=True, write=True, delete=True, list=True, create=True),
        datetime.now(UTC) + timedelta(hours=1),
    )


def test_a_signature_is_enough(tmp_path: Path) -> None:
    settings = {"account.auth.type": "SAS", f"sas.fixed.token.{HOST}": _signature(), f"account.key.{HOST}": ""}
    with AzureServer(tmp_path) as azure, used_by_this_process(azure, **settings):
        place = azure.bucket("signed") + "/storage"
        with StorageLock(place):
            Storage(place).write_text_atomic("in/a b?#%41", "1")
            Storage(place).move("in", "done")
            assert Storage(place).read_text("done/a b?#%41") == "1"
        write_deltalake(f"{place}/orders", pa.table({"id": [1]}), storage_options=storage_options(f"{place}/orders"))
        assert open_delta_table(f"{place}/orders").count() == 1
