"""Adds or replaces one entry of `conditions.json`, keeping the file sorted.

python tools/add_condition.py NAME --message "… <fact> …" --fix "…" [--sql-state 42000] [--retry never|backoff|outage]
"""

from __future__ import annotations

import argparse
import fcntl
import json
from pathlib import Path

CATALOGUE = Path(__file__).parent.parent / "src/penstock/errors/conditions.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--message", required=True)
    parser.add_argument("--fix", required=True)
    parser.add_argument("--sql-state", default="42000")
    parser.add_argument("--retry", choices=("never", "backoff", "outage"), default="never")
    arguments = parser.parse_args()
    with CATALOGUE.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        entries = json.loads(file.read() or "{}")
        entries[arguments.name] = {
            "message": arguments.message,
            "fix": arguments.fix,
            "sqlState": arguments.sql_state,
            "retry": arguments.retry,
        }
        file.seek(0)
        file.truncate()
        file.write(json.dumps(dict(sorted(entries.items())), indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
