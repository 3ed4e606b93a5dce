"""What the streams of the guides hold."""

from __future__ import annotations

EVENTS = [
    {"event_id": "1", "user_id": "u1", "event_type": "view", "timestamp": "2026-01-01T10:00:10Z"},
    {"event_id": "2", "user_id": "u1", "event_type": "buy", "timestamp": "2026-01-01T10:00:50Z"},
    {"event_id": "3", "user_id": "u2", "event_type": "view", "timestamp": "2026-01-01T10:30:00Z"},
    {"event_id": "4", "user_id": "u2", "event_type": "view", "timestamp": "2026-01-01T12:00:00Z"},
]
ORDERS = [
    {"order_id": "o1", "customer_id": "c1", "product": "tea", "amount": 120.0, "order_time": "2026-01-01T10:01:00Z"},
    {"order_id": "o2", "customer_id": "c2", "product": "tea", "amount": 80.0, "order_time": "2026-01-01T10:02:00Z"},
    {"order_id": "o3", "customer_id": "c1", "product": "rice", "amount": 300.0, "order_time": "2026-01-01T10:09:00Z"},
]
