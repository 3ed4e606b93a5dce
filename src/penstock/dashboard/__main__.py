"""The process that `start_in_background` starts: serves on the socket it inherits until its standard input ends."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
import threading

from penstock.dashboard.known_pipeline import KnownPipeline
from penstock.dashboard.log.live_log import LiveLog
from penstock.dashboard.server import DashboardServer
from penstock.dashboard.serving.access import Access
from penstock.storage.stores.settings import use_store_settings


def main() -> None:
    """Reads the settings from the first line of standard input; secrets are no arguments, which are public."""
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to a whole service, for example: the page lasts as the run
        signal.signal(number, signal.SIG_IGN)
    logging.disable()  # standard error is the run's; what fails is on the page
    settings = json.loads(sys.stdin.readline())
    use_store_settings(lambda: settings["stores"])
    listener = socket.socket(fileno=int(sys.argv[1]))
    access = Access.from_json(settings["access"])
    pipeline = KnownPipeline.from_json(settings["pipeline"])

    def work() -> None:
        try:
            DashboardServer(LiveLog(settings["storage"]), access, pipeline=pipeline).run(sockets=[listener])
        finally:
            os._exit(1)

    threading.Thread(target=work, name="penstock-dashboard", daemon=True).start()
    sys.stdin.read()
    os._exit(0)  # at once: open pages would hold a normal exit up


if __name__ == "__main__":
    main()
