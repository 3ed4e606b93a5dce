"""What the JVMs get that these tests start and kill."""

from __future__ import annotations

import os

# None lives long enough for the second compiler to earn back what it takes.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
