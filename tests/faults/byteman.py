"""Rules of Byteman for the JVM of a command: what shall happen around a call of the local file system, told by path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from penstock.spark.setup.jars import ensure_jars

_RULE: Final = """
RULE {name}
CLASS org.apache.hadoop.fs.RawLocalFileSystem
METHOD {method}
AT {moment}
BIND {bindings}
IF file.toUri().getPath().matches(".*/{path}") AND {condition}
DO {action}
ENDRULE
"""
RENAME: Final = "rename(org.apache.hadoop.fs.Path, org.apache.hadoop.fs.Path)"
CREATE: Final = "createOutputStreamWithMode"
OPEN: Final = "open(org.apache.hadoop.fs.Path, int)"
LIST: Final = "listStatus"


def rule(
    name: str, method: str, path: str, action: str, *, moment: str = "ENTRY", condition: str = "TRUE", bind: str = ""
) -> str:
    """Returns a rule for a method of the local file system, and files whose whole path ends with the pattern `path`.

    Of a rename, it is the path of the new name.
    """
    bindings = "; ".join(each for each in (f"file = ${2 if method == RENAME else 1}", bind) if each)
    return _RULE.format(
        name=name, method=method, path=path, action=action, moment=moment, condition=condition, bindings=bindings
    )


def environment(rules: str, script: Path) -> dict[str, str]:
    """Writes the rules into `script`; returns what a command needs in its environment so that its JVM follows them."""
    script.write_text(rules)
    [jar] = ensure_jars("byteman")
    return {"JAVA_TOOL_OPTIONS": f"{os.environ['JAVA_TOOL_OPTIONS']} -javaagent:{jar}=script:{script},boot:{jar}"}
