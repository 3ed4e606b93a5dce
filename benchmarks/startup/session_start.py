"""Starts a Penstock session and prints when the session is there, in seconds since 1970."""

from __future__ import annotations

import time

from penstock.spark.session.launch import SessionConfig
from penstock.spark.session.session import start_session, stop_session

spark = start_session(SessionConfig("startup"))
print(f"{time.time():.3f}")
stop_session(spark)
