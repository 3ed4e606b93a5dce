"""Runs a plain Structured Streaming script: its queries are checked before they start, and followed in the log.

A script starts its queries itself, so what Penstock adds hangs on four methods of PySpark, for as long as the script
runs: the session's builder (`session`), the readers (`reads`), and `start` and `toTable` of a stream's writer
(`writer_hooks`). Each rule in `rules` sees a query before it starts.
"""

from penstock.runtime.script.run import run_script

__all__ = ["run_script"]
