"""The example of a connector, installed for these tests."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest
from pyspark import cloudpickle
from tests.spark.connectors.installed_example import install_example

from penstock.spark.sources.installed import installed


@pytest.fixture(scope="session")
def sqlite_connector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Makes `format("sqlite")` known to this process, and to those that Spark starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(install_example(tmp_path_factory.mktemp("site"))))
        module = importlib.import_module("penstock_sqlite")
        cloudpickle.register_pickle_by_value(module)  # Spark's processes were given their path when the session began
        installed.cache_clear()
        yield
        cloudpickle.unregister_pickle_by_value(module)
    installed.cache_clear()
