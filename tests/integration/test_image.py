"""The image of `penstock deploy docker`, built and run with buildah on a Debian that the test makes itself.

The steps run in a chroot with the network and the kernel of this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli_runner import penstock
from tests.projects import orders_project
from tests.repo.documents import ROOT

from penstock.deploy.kubernetes.objects import USER

pytestmark = [
    pytest.mark.slow,  # ten minutes; the steps as text: unit/deploy/test_others.py
    pytest.mark.timeout(3000),
    pytest.mark.skipif(os.geteuid() != 0, reason="debootstrap makes device files, which only root may"),
]

_BASE = "localhost/python"
_DEBIAN = "bookworm"
_OF_THIS_MACHINE = ("/etc/pip.conf", "/etc/ssl/certs", "/usr/local/share/ca-certificates")
"""How pip and the jars' downloads reach their registries."""


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=2400, cwd=cwd)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    return done.stdout


@pytest.fixture(scope="module", autouse=True)
def images(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Images and containers are in a folder of the test; the first image is like Docker's `python`, with Debian's."""
    _run("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "buildah", "debootstrap")
    folder = tmp_path_factory.mktemp("images")
    settings = folder / "storage.conf"
    settings.write_text(f'[storage]\ndriver = "vfs"\nrunroot = "{folder}/run"\ngraphroot = "{folder}/graph"\n')
    packages = "--include=ca-certificates,python-is-python3,python3-pip,python3-venv"
    _run("debootstrap", "--variant=minbase", packages, _DEBIAN, folder / "root")
    for marker in (folder / "root/usr/lib").glob("python3.*/EXTERNALLY-MANAGED"):
        marker.unlink()
    (folder / "Dockerfile").write_text("FROM scratch\nCOPY root/ /\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTAINERS_STORAGE_CONF", str(settings))
        _run("buildah", "bud", "--isolation", "chroot", "--tag", _BASE, folder)
        yield
        _run("buildah", "rm", "--all")


def test_the_image_runs_the_quickstart(tmp_path: Path) -> None:
    _run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path / "dist", cwd=ROOT)
    [wheel] = (tmp_path / "dist").iterdir()
    project = orders_project(tmp_path / "orders", files=4)
    (project.directory / "requirements.txt").write_text("tinycss2==1.4.0\n")
    penstock("deploy", "docker", project.directory).expect(0)
    mounts = [f"--volume={path}:{path}:ro" for path in _OF_THIS_MACHINE if Path(path).exists()]
    given = ["--build-arg", f"BASE={_BASE}", "--build-arg", f"PENSTOCK=penstock[all] @ file:///dist/{wheel.name}"]
    build = ("buildah", "bud", "--isolation", "chroot", *mounts, f"--volume={wheel.parent}:/dist:ro", *given)
    assert "A class archive for quick starts" in _run(*build, "--tag", "orders", project.directory)

    container = _run("buildah", "from", "orders").strip()
    image = json.loads(_run("buildah", "inspect", container))["OCIv1"]["config"]
    assert image["User"] == f"{USER}:{USER}"
    storage = project.directory / ".penstock"
    storage.mkdir()
    os.chown(storage, USER, USER)  # as a volume gets the owner of the folder in the image
    run = ("buildah", "run", "--isolation", "chroot", f"--volume={storage}:/pipeline/.penstock", container, "--")
    _run(*run, *image["Entrypoint"], *image["Cmd"])
    project.assert_tables()
    assert "tinycss2" in _run(*run, "pip", "list")
    assert {file.stat().st_uid for file in storage.rglob("*")} == {USER}
