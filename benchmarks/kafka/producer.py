"""Sends numbered messages at a steady rate: `producer.py BROKER TOPIC ROWS RATE`; RATE 0 is as fast as it goes.

Each message tells when it was due, not when it was sent: a producer that falls behind makes no latency look better.
"""

from __future__ import annotations

import json
import sys
import time

from confluent_kafka import Producer

_SLICE_SECONDS = 0.01
_NOTE = "a message of about two hundred bytes, as orders of a shop often are; "


def main(broker: str, topic: str, rows: int, rate: int) -> int:
    producer = Producer({"bootstrap.servers": broker, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000})
    start, sent = time.time(), 0
    while sent < rows:
        now = time.time() - start
        due = rows if rate == 0 else min(rows, int(now * rate))
        for number in range(sent, due):
            at = time.time() if rate == 0 else start + number / rate
            value = {"id": number, "sent": round(at * 1000), "amount": number % 977 + 0.25, "note": _NOTE}
            while True:
                try:
                    producer.produce(topic, json.dumps(value), partition=number % 2)
                except BufferError:
                    producer.poll(0.1)
                else:
                    break
        sent = max(sent, due)
        producer.poll(0)
        if rate:
            time.sleep(_SLICE_SECONDS)
    return producer.flush(60)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
