"""Runs the tests that CI leaves out, file by file: python tools/full_tests.py [SECONDS].

After SECONDS (3,300 by default) no further file begins; the next call goes on with those that have not passed at this
commit. The suites of faults run in full and write what they find into docs/evidence.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DONE = ROOT / ".full-tests.json"
KILLS = {"test_cluster_kills.py": "100", "test_kill_loop.py": "200", "test_late_proof.py": "10"}  # enough for evidence
_NO_TESTS = 5  # pytest's code: the marked ones may all be cases for another system


def slow_files() -> list[str]:
    """Returns the test files that have a test marked as slow; a mark may come with a fixture of another file."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "slow", "tests"]
    collected = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted({line.partition("::")[0] for line in collected.splitlines() if "::" in line})


def main(seconds: float) -> int:
    """Runs what is left, and returns how many files failed."""
    command = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    known = json.loads(DONE.read_text(encoding="utf-8")) if DONE.exists() else {}
    passed: list[str] = known.get("passed", []) if known.get("commit") == commit else []
    files = slow_files()
    until, failed = time.monotonic() + seconds, []
    for number, file in enumerate(files, start=1):
        if file in passed:
            continue
        if time.monotonic() > until:
            break
        print(f"[{number}/{len(files)}] {file}", flush=True)
        environment = {**os.environ, "FAULT_EVIDENCE": "1", "FAULT_KILLS": KILLS.get(Path(file).name, "3")}
        command = [sys.executable, "-m", "pytest", "-q", "-m", "slow", file]
        code = subprocess.run(command, cwd=ROOT, check=False, env=environment).returncode
        if code in {0, _NO_TESTS}:
            passed.append(file)
            DONE.write_text(json.dumps({"commit": commit, "passed": passed}, indent=1), encoding="utf-8")
        else:
            failed.append(file)
    left = len(files) - len(passed) - len(failed)
    print(f"{len(passed)} of {len(files)} files passed at this commit, {len(failed)} failed, {left} left", *failed)
    if left:
        print("Run the same command again for the next part")
    return len(failed)


if __name__ == "__main__":
    sys.exit(min(main(float(sys.argv[1]) if len(sys.argv) > 1 else 3300), 1))
