"""The secret of the manifests: one entry for each place that the pipeline file refers to."""

from __future__ import annotations

import posixpath
import re
import shlex

from penstock.config import SecretReference
from penstock.deploy.deployment import Deployment
from penstock.deploy.kubernetes.objects import HOME, PROJECT


def secret_key(reference: SecretReference) -> str:
    """Returns the entry's name: the variable, or the file's path with `-` for what Kubernetes does not allow."""
    return re.sub(r"[^-._a-zA-Z0-9]+", "-", reference.target).strip("-.")


def secret_path(reference: SecretReference) -> str:
    """Returns where a run in the container reads a secret file: relative to the project, `~` is its home."""
    target = re.sub(r"^~(?=/)", HOME, reference.target)
    return posixpath.normpath(posixpath.join(PROJECT, target))


def secret_command(deployment: Deployment) -> str | None:
    """Returns the command that creates the secret from this shell's variables and this machine's files."""
    if not deployment.secrets:
        return None
    words = [f"kubectl create secret generic {deployment.name}"]
    for each in deployment.secrets:
        if each.path is None:
            words.append(f'--from-literal={each.target}="${each.target}"')
        else:
            words.append(f"--from-file={shlex.quote(f'{secret_key(each)}={each.path}')}")
    return " ".join(words)
