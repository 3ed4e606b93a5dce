"""Starts a Penstock session and prints the seconds from the start of this process until the session is there."""

from __future__ import annotations

import time

import psutil

from penstock.spark.session import SessionConfig, start_session, stop_session

spark = start_session(SessionConfig("startup"))
print(f"{time.time() - psutil.Process().create_time():.3f}")
stop_session(spark)
