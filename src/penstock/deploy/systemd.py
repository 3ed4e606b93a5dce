"""A unit of systemd for one machine: a service that runs continuously, or a timer that starts a run at intervals."""

from __future__ import annotations

from typing import Final

from penstock.deploy.deployment import NO_RETRY, DeployFile, Deployment

_UNIT: Final = """\
# Written by `penstock deploy systemd`. To install:
#   sudo useradd --system --home-dir /var/lib/{name} --create-home {name}
#   sudo cp {files} /etc/systemd/system/
#   sudo systemctl daemon-reload && sudo systemctl enable --now {enabled}
[Unit]
Description=Penstock pipeline {title}
Wants=network-online.target
After=network-online.target
{limit}
[Service]
Type={type}
User={name}
WorkingDirectory={directory}
ExecStart={command}
{restart}# The run ends after its current batch, and Java with it.
KillSignal=SIGTERM
KillMode=mixed
TimeoutStopSec={stop}
{variables}
NoNewPrivileges=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectSystem=strict
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictSUIDSGID=yes
ReadWritePaths={writable}
{install}"""
_TIMER: Final = """\
[Unit]
Description=Starts the Penstock pipeline {title} every {every} seconds, counted from the end of its last run

[Timer]
OnBootSec=1min
OnUnitInactiveSec={every}

[Install]
WantedBy=timers.target
"""


def units(deployment: Deployment) -> list[DeployFile]:
    """Returns the service, and the timer unless the run is continuous."""
    name, continuous = deployment.name, deployment.continuous
    config = deployment.config
    writable = [f"/var/lib/{name}"]
    if deployment.local_storage is not None:
        writable.append(str(deployment.local_storage))
    command = [deployment.penstock, "run", str(config.directory), *deployment.options, *deployment.run_options]
    variables = "# No secret of the pipeline file is in an environment variable.\n"
    if deployment.variables:
        variables = f"# Mode 600, one NAME=VALUE a line: {', '.join(deployment.variables)}\n"
        variables += f"EnvironmentFile=/etc/penstock/{name}.env\n"
    service = _UNIT.format(
        name=name,
        title=_text(config.name),
        files=f"{name}.service" if continuous else f"{name}.service {name}.timer",
        enabled=f"{name}.service" if continuous else f"{name}.timer",
        limit="StartLimitIntervalSec=0\n" if continuous else "",
        type="exec" if continuous else "oneshot",
        directory=_text(str(config.directory)),
        command=" ".join(map(_word, command)),
        restart=f"Restart=on-failure\nRestartSec=10\n# Another try would end alike: the definition or the state is"
        f" refused.\nRestartPreventExitStatus={' '.join(map(str, NO_RETRY))}\n",
        stop=deployment.stop_seconds,
        variables=variables,
        writable=" ".join(_word(path) for path in writable),
        install="\n[Install]\nWantedBy=multi-user.target\n" if continuous else "",
    )
    files = [DeployFile(f"{name}.service", service)]
    if not continuous:
        timer = _TIMER.format(title=_text(config.name), every=f"{deployment.every:g}")
        files.append(DeployFile(f"{name}.timer", timer))
    return files


def _text(text: str) -> str:
    """`%` begins a specifier of systemd; a line end would begin another setting."""
    return " ".join(text.split()).replace("%", "%%")


def _word(text: str) -> str:
    """One word of a command line: quoted, `$` and `%` doubled (systemd.service(5), "COMMAND LINES")."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$").replace("%", "%%")
    return f'"{escaped}"' if escaped != text or " " in text else text
