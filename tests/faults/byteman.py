"""Rules of Byteman for the JVM of a command: what shall happen around a call of the local file system, told by path."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.spark.accelerators.own_classes import LOG_STORE
from penstock.spark.session.setup.jars import ensure_jars

_RULE: Final = """
RULE {name}, {method}
CLASS {owner}
METHOD {method}
AT {moment}
BIND {bindings}
IF file.toUri().getPath().matches(".*/{path}") AND {condition}
DO {action}
ENDRULE
"""
_FILES: Final = "org.apache.hadoop.fs.RawLocalFileSystem"


@dataclass(frozen=True, slots=True)
class Call:
    """What is done to a file or folder: the class and method of each way to do it, and which path that is told."""

    name: str
    ways: tuple[tuple[str, str, str], ...]


RENAME: Final = Call(
    "rename",
    ((_FILES, "rename(org.apache.hadoop.fs.Path, org.apache.hadoop.fs.Path)", "$2"), (LOG_STORE, "publish", "$2")),
)
CREATE: Final = Call("create", ((_FILES, "createOutputStreamWithMode", "$1"),))
OPEN: Final = Call("open", ((_FILES, "open(org.apache.hadoop.fs.Path, int)", "$1"),))
LINK: Final = Call("link", (("java.nio.file.Files", "createLink", "$1"),))
LIST: Final = Call("list", ((_FILES, "listStatus", "$1"), (LOG_STORE, "listFrom", "$1.getParent()")))


def rule(
    name: str, call: Call, path: str, action: str, *, moment: str = "ENTRY", condition: str = "TRUE", bind: str = ""
) -> str:
    """Returns the rules for a call of the local file system, and files whose whole path ends with the pattern `path`.

    Of a rename, it is the path of the new name.
    """
    return "".join(
        _RULE.format(
            name=name,
            owner=owner,
            method=method,
            path=path,
            action=action,
            moment=moment,
            condition=condition,
            bindings="; ".join(each for each in (f"file = {file}", bind) if each),
        )
        for owner, method, file in call.ways
    )


def environment(rules: str, script: Path) -> dict[str, str]:
    """Writes the rules into `script`; returns what a command needs in its environment so that its JVM follows them."""
    script.write_text(rules)
    [jar] = ensure_jars("byteman")
    return {"JAVA_TOOL_OPTIONS": f"{os.environ['JAVA_TOOL_OPTIONS']} -javaagent:{jar}=script:{script},boot:{jar}"}
