"""Writes a file of page views each second: `python make_data.py [--files N] [--first N] [--pause SECONDS]`."""

import argparse
import json
import random
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

FOLDER = Path(__file__).parent / "data/views"
START = datetime(2026, 1, 1, tzinfo=UTC)
PAGES = ("/", "/search", "/cart", "/pay")
ROWS = 20


def rows(number):
    """Returns the views of one second."""
    chance = random.Random(number)
    at = START + timedelta(seconds=number)
    for _ in range(ROWS):
        page = chance.choices(PAGES, (60, 25, 10, 5))[0]
        visitor = f"visitor-{chance.randrange(500):03}"
        yield {
            "page": page,
            "visitor": visitor,
            "viewed_at": at.isoformat(),
            "milliseconds": chance.randrange(20, 400),
        }


def write(numbers, pause=0.0):
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        hidden = FOLDER / f".{number:06}.tmp"  # a file is whole when it gets its name
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows(number)))
        hidden.rename(FOLDER / f"{number:06}.json")
        time.sleep(pause)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=240)
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    parser.add_argument("--pause", type=float, default=1, help="seconds between two files")
    given = parser.parse_args()
    write(range(given.first, given.first + given.files), given.pause)


if __name__ == "__main__":
    main()
