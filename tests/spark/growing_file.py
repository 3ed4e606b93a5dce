"""A file that is not whole yet."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_to(path: Path) -> Iterator[list[str]]:
    """Something appends to a file, again and again, inside the block; tells the lines that are there."""
    lines, stop = list[str](), threading.Event()

    def write() -> None:
        while not stop.wait(0.1 if lines else 0):
            lines.append(f"line {len(lines):04}")
            with path.open("a") as file:
                file.write(f"{lines[-1]}\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while not path.exists():
            stop.wait(0.01)
        yield lines
    finally:
        stop.set()
        writer.join()
