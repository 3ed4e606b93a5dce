"""A workflow of GitHub Actions: validates and tests each change, and comments what a run would do."""

from __future__ import annotations

import shlex
from importlib import metadata
from typing import Any

from ruamel.yaml.scalarstring import LiteralScalarString

from penstock.deploy.deployment import DeployFile, Deployment
from penstock.deploy.yaml_text import yaml_text

_COMMENT = """\
{ echo '### penstock plan'; echo '```text'; cat plan.txt; echo '```'; } > comment.md
gh pr comment "$PULL_REQUEST" --edit-last --create-if-none --body-file comment.md
"""


def workflow(deployment: Deployment) -> list[DeployFile]:
    """Returns the workflow; secrets of the pipeline file are the repository's secrets of the same name."""
    options = "".join(f" {shlex.quote(word)}" for word in deployment.options)
    secrets = {name: f"${{{{ secrets.{name} }}}}" for name in deployment.variables}
    steps: list[dict[str, Any]] = [
        {"uses": "actions/checkout@v4"},
        {"uses": "actions/setup-python@v5", "with": {"python-version": "3.12"}},
        {"run": f"pip install 'penstock[all]=={metadata.version('penstock')}'"},
        {"run": "if [ -f requirements.txt ]; then pip install --requirement requirements.txt; fi"},
        {"run": "penstock lint --github"},
        {"run": f"penstock validate{options}"},
        {"run": "penstock test"},
        {"run": f"penstock plan{options} | tee plan.txt"},
        {
            "name": "Comment the plan",
            "if": "github.event_name == 'pull_request'",
            "run": LiteralScalarString(_COMMENT),
            "env": {
                "GH_TOKEN": "${{ github.token }}",
                "PULL_REQUEST": "${{ github.event.pull_request.number }}",
            },
        },
    ]
    document = {
        "name": f"Pipeline {deployment.config.name}",
        "on": {"pull_request": {}, "push": {"branches": ["main"]}},
        "permissions": {"contents": "read", "pull-requests": "write"},
        "jobs": {
            "check": {
                "runs-on": "ubuntu-latest",
                "timeout-minutes": 30,
                "defaults": {"run": {"shell": "bash"}},  # with pipefail
                **({"env": secrets} if secrets else {}),
                "steps": steps,
            }
        },
    }
    return [DeployFile(f".github/workflows/{deployment.name}.yml", yaml_text(document))]
