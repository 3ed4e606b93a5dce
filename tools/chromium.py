"""Chromium for the tests of the dashboard, its benchmark and its pictures: the machine's, else one from a registry.

The one from a registry is the npm package @sparticuz/chromium, with all libraries that a machine may lack, for Linux on
x86_64. It is checked by its sha512 and unpacked into the user's cache once.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Playwright
from tools.node import npm_and_node

from penstock.spark.session.setup.cache import cache_directory, one_process_at_a_time

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PACKAGE = "@sparticuz/chromium@153.0.0"
SHA512 = "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_UNPACK = """
const fs = require("fs"), zlib = require("zlib");
for (const [from, to] of [["chromium.br", "chromium"], ["al2023.tar.br", "lib.tar"], ["fonts.tar.br", "fonts.tar"]])
  fs.writeFileSync(to, zlib.brotliDecompressSync(fs.readFileSync("package/bin/" + from)));
"""


def launch(playwright: Playwright) -> Browser:
    """Starts Chromium without a window.

    Raises:
        RuntimeError: There is none, and none for this kind of machine in the registry.
    """
    own = next(filter(None, map(shutil.which, _NAMES)), None)
    if own is not None:
        return playwright.chromium.launch(executable_path=own, args=FLAGS)
    return launch_from_registry(playwright)


def launch_from_registry(playwright: Playwright) -> Browser:
    """As `launch`, with the Chromium of the registry also where the machine has its own."""
    folder = _unpacked()
    environ: dict[str, str | float | bool] = {
        **os.environ,
        "LD_LIBRARY_PATH": str(folder / "lib"),
        "FONTCONFIG_PATH": str(folder),
    }
    return playwright.chromium.launch(
        executable_path=folder / "chromium", args=[*FLAGS, "--no-zygote", "--headless=shell"], env=environ
    )


@functools.cache
def _unpacked() -> Path:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise RuntimeError("no Chromium: install it, on Debian with 'apt-get install chromium'")
    place = cache_directory() / PACKAGE.rpartition("/")[2]
    with one_process_at_a_time(place.with_suffix(".lock"), waiting=lambda: None):
        if not place.is_dir():
            print(f"Fetching Chromium ({PACKAGE}, 70 MB, once)", file=sys.stderr)
            with tempfile.TemporaryDirectory(dir=place.parent) as folder:
                _fetch(Path(folder))
                fonts = f"<dir>{place}/fonts</dir><cachedir>{place}/fonts</cachedir>"
                (Path(folder) / "fonts.conf").write_text(f"<fontconfig>{fonts}</fontconfig>\n", encoding="utf-8")
                Path(folder).rename(place)
                Path(folder).mkdir()  # for the end of the block
    return place


def _fetch(folder: Path) -> None:
    npm, node = npm_and_node()
    pack = [*npm, "pack", "--silent", PACKAGE, "--pack-destination", str(folder)]
    subprocess.run(pack, check=True, stdout=subprocess.DEVNULL, timeout=600)
    [archive] = folder.glob("*.tgz")
    if base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() != SHA512:
        raise RuntimeError(f"{PACKAGE} is not the one that tools/chromium.py names: its sha512 differs")
    _extract(archive, folder)
    subprocess.run([node, "-e", _UNPACK], cwd=folder, check=True, timeout=300)
    for name in ("lib.tar", "fonts.tar"):
        _extract(folder / name, folder)
    (folder / "chromium").chmod(0o755)
    shutil.rmtree(folder / "package")


def _extract(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    archive.unlink()
