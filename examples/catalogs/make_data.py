"""Writes the orders of some hours: `python make_data.py [--files N] [--first N]`."""

import argparse
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

FOLDER = Path(__file__).parent / "data/orders"
START = datetime(2026, 1, 1, tzinfo=UTC)
SHOPS = ("north", "south", "harbour")
ROWS = 50


def rows(number):
    """Returns the orders of one hour, in whole euros; a few lack a shop, or are cancellations (a negative amount)."""
    chance = random.Random(number)
    for each in range(ROWS):
        yield {
            "id": number * ROWS + each,
            "shop": None if chance.random() < 0.03 else chance.choice(SHOPS),
            "ordered_at": (START + timedelta(hours=number, seconds=each)).isoformat(),
            "amount": -5 if chance.random() < 0.05 else chance.randrange(2, 90),
        }


def write(numbers):
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        hidden = FOLDER / f".{number:06}.tmp"  # a file is whole when it gets its name
        hidden.write_text("".join(json.dumps(each) + "\n" for each in rows(number)))
        hidden.rename(FOLDER / f"{number:06}.json")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    given = parser.parse_args()
    write(range(given.first, given.first + given.files))


if __name__ == "__main__":
    main()
