"""Writes the receipts of some hours: `python make_data.py [--files N] [--first N] [--pause SECONDS]`."""

import argparse
import csv
import random
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

FOLDER = Path(__file__).parent / "data/receipts"
START = datetime(2026, 1, 1, tzinfo=UTC)
SHOPS = ("north", "south", "harbour")
ROWS = 200


def rows(number):
    """Returns the receipts of one hour, in whole euros; one of a hundred is a cancellation."""
    chance = random.Random(number)
    for each in range(ROWS):
        at = START + timedelta(hours=number, seconds=each)
        amount = -5 if chance.random() < 0.01 else chance.randrange(2, 90)
        yield {
            "receipt": number * ROWS + each,
            "shop": chance.choice(SHOPS),
            "sold_at": at.isoformat(),
            "amount": amount,
        }


def write(numbers, pause=0.0):
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        hidden = FOLDER / f".{number:06}.tmp"  # a file is whole when it gets its name
        with hidden.open("w", newline="") as file:
            writer = csv.DictWriter(file, ("receipt", "shop", "sold_at", "amount"))
            writer.writeheader()
            writer.writerows(rows(number))
        hidden.rename(FOLDER / f"{number:06}.csv")
        time.sleep(pause)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=24)
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    parser.add_argument("--pause", type=float, default=0, help="seconds between two files")
    given = parser.parse_args()
    write(range(given.first, given.first + given.files), given.pause)


if __name__ == "__main__":
    main()
