"""What `make bench` runs: every benchmark, or the named ones with their flags.

run.py                          all of them, in full
run.py --quick                  all of them, small: shows that they work, says nothing about speed
run.py orders --repeat 3        one of them, with its own flags (see `run.py orders --help`)
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_SMALL_RESULTS = _ROOT / ".bench" / "quick"
_QUICK = {
    "auto_loader": ["--files", "1000", "--batches", "2", "--rows", "20000", "--repeat", "1"],
    "cdc": ["--rows", "20000", "--warm-up", "0", "--batches", "1"],
    "orders": ["--rows", "5000", "--files", "4", "--systems", "hand-written-tuned,penstock"],
    "startup": ["--repeat", "1"],
    "expectations": ["--rows", "20000", "--repeat", "1"],
    "reliability": ["--repeat", "1", "--tables", "10", "--versions", "150"],
    "jdbc": ["--rows", "20000", "--changes", "2000", "--warm-up", "0", "--batches", "1"],
    "update": ["--rows", "20000", "--warm-up", "0", "--batches", "1"],
    "testkit": ["--steps", "3"],
    "refresh": ["--rows", "20000", "--repeat", "1"],
    "stateful": ["--rows", "20000", "--repeat", "1"],
    "kafka": ["--seconds", "60", "--backlog", "50000"],
    "kinesis": ["--megabytes", "5", "--shards", "2"],
    "dashboard": ["--megabytes", "20", "--viewers", "20", "--seconds", "3", "--datasets", "100"],
    "event_log": ["--batches", "5", "--rows", "1000"],
    "lateness": ["--rows", "20000", "--repeat", "1"],
    "messages": ["--rows", "20000", "--repeat", "1"],
}


def main(words: list[str]) -> int:
    if words and words[0] in _QUICK:
        return _run(words[0], words[1:])
    if words not in ([], ["--quick"]):
        print(__doc__)
        return 2
    codes = {
        name: _run(name, [*flags, "--results", str(_SMALL_RESULTS)] if words else []) for name, flags in _QUICK.items()
    }
    failed = [name for name, code in codes.items() if code]
    print(f"{len(codes) - len(failed)} passed, {len(failed)} failed")
    if failed:
        print("failed: " + ", ".join(failed), file=sys.stderr)
    return 1 if failed else 0


def _run(name: str, flags: list[str]) -> int:
    print(f"-- {name} {' '.join(flags)}", flush=True)
    started = time.monotonic()
    code = subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *flags], check=False, cwd=_ROOT).returncode
    print(f"-- {name}: exit code {code}, {time.monotonic() - started:.0f} s", flush=True)
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
