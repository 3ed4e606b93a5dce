"""Policies of object stores that let a role read the files of its tables, and of no others.

The forms are those of AWS IAM policies, of Azure's attribute-based conditions (version 2.0) and of Google Cloud's IAM
conditions. They allow to read, and to list what is below a table's folder.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from penstock.deploy.deployment import DeployFile
from penstock.errors import ConfigError

_LONGEST: Final = 80
_SPECIAL: Final = frozenset("'\"\\*?")
Containers = Mapping[str, list[str]]
"""The folders of tables, without a slash at the end, by the bucket or container that holds them."""


def policies(storage: str, tables: Mapping[str, Iterable[str]]) -> list[DeployFile]:
    """Returns a file for each role and bucket.

    Args:
        storage: the URI of the storage, whose scheme says which store it is.
        tables: the URIs of the tables that a role may read, by role.

    Raises:
        ConfigError: POLICY_NOT_POSSIBLE.
    """
    make = _FORMS.get(urlsplit(storage).scheme)
    if make is None:
        raise ConfigError("POLICY_NOT_POSSIBLE", place=storage, reason="is not in S3, Azure or Google Cloud Storage")
    return [each for role, uris in sorted(tables.items()) for each in make(_file_name(role), _by_container(uris))]


def _by_container(uris: Iterable[str]) -> Containers:
    found = defaultdict[str, list[str]](list)
    for uri in sorted(uris):
        parts = urlsplit(uri)
        container = parts.username or parts.netloc  # abfss://container@account…
        if _SPECIAL & set(container + parts.path):  # in a policy they would mean more places than this one
            raise ConfigError("POLICY_NOT_POSSIBLE", place=uri, reason="has a quote, a backslash, * or ? in its name")
        found[container].append(parts.path.strip("/"))
    return found


def _of_aws(name: str, containers: Containers) -> list[DeployFile]:
    statements: list[dict[str, Any]] = []
    for bucket, folders in containers.items():
        arn = f"arn:aws:s3:::{bucket}"
        statements.append(
            {
                "Effect": "Allow",
                "Action": "s3:GetObject",
                "Resource": [f"{arn}/{folder}/*" for folder in folders],
            }
        )
        statements.append(
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": arn,
                "Condition": {"StringLike": {"s3:prefix": [f"{folder}/*" for folder in folders]}},
            }
        )
    document = {"Version": "2012-10-17", "Statement": statements}
    return [DeployFile(f"{name}.json", json.dumps(document, indent=2) + "\n")] if statements else []


def _of_azure(name: str, containers: Containers) -> list[DeployFile]:
    blobs = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
    files = []
    for container, folders in containers.items():
        reads = " OR ".join(f"@Resource[{blobs}:path] StringLike '{folder}/*'" for folder in folders)
        lists = " OR ".join(f"@Request[{blobs}:prefix] StringLike '{folder}/*'" for folder in folders)
        of_lists = "SubOperationMatches{'Blob.List'}"
        action = f"ActionMatches{{'{blobs}/read'}}"
        condition = (
            f"((!({action} AND NOT {of_lists})) OR ({reads}))\nAND\n((!({action} AND {of_lists})) OR ({lists}))\n"
        )
        files.append(DeployFile(f"{name}.{container}.condition.txt", condition))
    return files


def _of_google(name: str, containers: Containers) -> list[DeployFile]:
    files = []
    for bucket, folders in containers.items():
        terms = []
        for folder in folders:
            terms.append(f'resource.name.startsWith("projects/_/buckets/{bucket}/objects/{folder}/")')
            terms.append(f'api.getAttribute("storage.googleapis.com/objectListPrefix", "").startsWith("{folder}/")')
        document = {
            "title": f"Tables of {name}",
            "description": "Written by penstock deploy policy",
            "expression": " || ".join(terms),
        }
        files.append(DeployFile(f"{name}.{bucket}.condition.json", json.dumps(document, indent=2) + "\n"))
    return files


_FORMS: Final[Mapping[str, Callable[[str, Containers], list[DeployFile]]]] = {
    "s3a": _of_aws,
    "s3": _of_aws,
    "abfss": _of_azure,
    "abfs": _of_azure,
    "gs": _of_google,
}


def _file_name(role: str) -> str:
    return re.sub(r"[^\w.@-]+", "-", role)[:_LONGEST].strip("-.") or "role"
