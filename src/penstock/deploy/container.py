"""The Dockerfile of a pipeline's image: Penstock with its Java and jars, and the project; it runs without root."""

from __future__ import annotations

import json
import shlex
from importlib import metadata
from pathlib import Path
from typing import Final

from penstock.deploy.deployment import DeployFile, Deployment
from penstock.deploy.kubernetes.objects import HOME, PROJECT, USER, storage_in_container

_CLIENTS: Final = {"s3": "--s3", "s3a": "--s3", "abfs": "--azure", "abfss": "--azure", "gs": "--gcs"}
_DOCKERFILE: Final = """\
# docker build --tag {name} .
# For an image that can be built again, name the base by its digest, and the packages in requirements.txt with hashes.
ARG BASE=python:3.12-slim
FROM ${{BASE}}
ARG PENSTOCK="penstock[all]=={version}"

ENV PENSTOCK_CACHE=/opt/penstock PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore PYTHONUNBUFFERED=1
RUN pip install "${{PENSTOCK}}"
# Java came with it, as a wheel; this fetches Spark's jars, checks them, and makes the class archive for a quick start.
RUN penstock setup{clients} && chmod -R a+rX /opt/penstock

# The first of the two is there, so the second may be missing.
COPY [{file}, "requirements.tx[t]", "/opt/project/"]
RUN if [ -f /opt/project/requirements.txt ]; then pip install --requirement /opt/project/requirements.txt; fi

COPY . {project}
# Hadoop asks the system for the name of the user.
RUN groupadd --gid {user} penstock && useradd --uid {user} --gid {user} --home-dir {home} penstock
RUN mkdir -p {writable} && chown {user}:{user} {writable}
WORKDIR {home}
USER {user}:{user}
ENTRYPOINT ["penstock"]
CMD ["run", "{project}"]
"""
_IGNORED: Final = """\
.git
.penstock
**/__pycache__
deploy
"""


def container(deployment: Deployment) -> list[DeployFile]:
    """Returns the Dockerfile and what Docker leaves out of the image."""
    scheme, found, _ = deployment.config.storage.partition("://")
    text = _DOCKERFILE.format(
        name=deployment.name,
        version=metadata.version("penstock"),
        clients=f" {_CLIENTS[scheme]}" if found and scheme in _CLIENTS else "",
        project=PROJECT,
        file=json.dumps(Path(deployment.config.file.path).name),
        home=HOME,
        writable=" ".join(shlex.quote(path) for path in (HOME, storage_in_container(deployment)) if path),
        user=USER,
    )
    return [DeployFile("Dockerfile", text), DeployFile(".dockerignore", _IGNORED)]
