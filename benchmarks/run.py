"""What `make bench` runs: every benchmark, or the named ones with their flags.

run.py                          all of them, in full
run.py --quick                  all of them, tiny: shows that they work, says nothing about speed
run.py --quick kafka jdbc       some of them, tiny
run.py orders --repeat 3        one of them, with its own flags (see `run.py orders --help`)
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_NAMES = sorted(path.parent.name for path in (_ROOT / "benchmarks").glob("*/__main__.py"))
_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of Linux


def main(words: list[str]) -> int:
    if words and words[0] == "--quick" and set(words[1:]) <= set(_NAMES):
        return _run_quickly(words[1:])
    if words and words[0] in _NAMES:
        return _run(words[0], words[1:])
    if words:
        print(__doc__)
        return 2
    codes = {name: _run(name, []) for name in _NAMES}
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


def _run_quickly(names: list[str]) -> int:
    """Runs them in one process below this one, which waits for JVMs whose Python has ended: their time counts, too."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1)
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.quick", *names], cwd=_ROOT)
    while True:
        ended, status = os.wait()
        if ended == process.pid:
            return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
