"""The Dockerfile of a pipeline's image: Penstock with its Java and jars, and the project; it runs without root."""

from __future__ import annotations

from importlib import metadata
from typing import Final

from penstock.deploy.deployment import DeployFile, Deployment
from penstock.deploy.kubernetes.objects import HOME, PROJECT, USER

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

COPY requirements.tx[t] /tmp/
RUN if [ -f /tmp/requirements.txt ]; then pip install --requirement /tmp/requirements.txt; fi

COPY . {project}
WORKDIR {home}
RUN chown {user}:{user} {home}
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
        home=HOME,
        user=USER,
    )
    return [DeployFile("Dockerfile", text), DeployFile(".dockerignore", _IGNORED)]
