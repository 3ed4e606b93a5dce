"""Writes files of clicks, each of five minutes: `python make_data.py [--files N] [--first N] [--pause SECONDS]`."""

import argparse
import json
import random
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

FOLDER = Path(__file__).parent / "data/clicks"
START = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = 100


def rows(number):
    """Returns the clicks of five minutes, out of order, up to ten minutes late."""
    chance = random.Random(number)
    for _ in range(ROWS):
        late = chance.randrange(600) if chance.random() < 0.1 else 0
        at = START + timedelta(minutes=5 * number, seconds=chance.randrange(300) - late)
        customer, product = f"customer-{chance.randrange(200):03}", f"product-{chance.randrange(12):02}"
        yield {"customer": customer, "product": product, "clicked_at": at.isoformat()}


def write(numbers, pause=0.0):
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        hidden = FOLDER / f".{number:06}.tmp"  # a file is whole when it gets its name
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows(number)))
        hidden.rename(FOLDER / f"{number:06}.json")
        time.sleep(pause)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=120)
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    parser.add_argument("--pause", type=float, default=0, help="seconds between two files")
    given = parser.parse_args()
    write(range(given.first, given.first + given.files), given.pause)


if __name__ == "__main__":
    main()
