"""Packages of requirements-NAME.lock, which few tests need: installed when the first of them asks."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from penstock.spark.session.setup.cache import cache_directory, one_process_at_a_time

ROOT = Path(__file__).resolve().parent.parent


def folder_of(package: str, lock: str) -> Path:
    """Returns the folder of the package, after installing the lock file's.

    Raises:
        RuntimeError: pip has installed it for another Python.
    """
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    with one_process_at_a_time(cache_directory() / "pip.lock", waiting=lambda: None):  # two would mix their files
        subprocess.run([*install, "-r", str(ROOT / lock)], check=True, timeout=600)
    importlib.invalidate_caches()
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise RuntimeError(f"no package {package}: pip has installed {lock} somewhere else")
    return Path(found.submodule_search_locations[0])
