"""Writes many small files of sensor readings: `python make_data.py [--files N] [--first N] [--pause SECONDS]`."""

import argparse
import json
import random
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

FOLDER = Path(__file__).parent / "data/readings"
START = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = 50


def rows(number):
    """Returns the rows of one file: a device's readings of some seconds; one of a hundred is not plausible."""
    chance = random.Random(number)
    for second in range(ROWS):
        celsius = 999.0 if chance.random() < 0.01 else chance.gauss(20, 5)
        at = START + timedelta(seconds=number + second)
        yield {"device": f"device-{number % 40:03}", "at": at.isoformat(), "celsius": celsius}


def write(numbers, pause=0.0):
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        hidden = FOLDER / f".{number:06}.tmp"  # a file is whole when it gets its name
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows(number)))
        hidden.rename(FOLDER / f"{number:06}.json")
        time.sleep(pause)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=1200)
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    parser.add_argument("--pause", type=float, default=0, help="seconds between two files")
    given = parser.parse_args()
    write(range(given.first, given.first + given.files), given.pause)


if __name__ == "__main__":
    main()
