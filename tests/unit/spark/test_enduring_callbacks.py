"""py4j's server of Java's calls: after a shortage of file descriptors it accepts again, without a loop that spins."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import os, resource, socket, threading, time
from py4j.java_gateway import CallbackServer, CallbackServerParameters, server_started
from penstock.spark.accelerators.callbacks import accept_calls_after_shortages

accept_calls_after_shortages()
parameters = CallbackServerParameters(port=0, daemonize=True, daemonize_connections=True)
listening = threading.Event()
server_started.connect(lambda **_: listening.set(), unique_id="test")
server = CallbackServer({}, None, callback_server_parameters=parameters)
server.start()
assert listening.wait(10)
port = server.get_listening_port()
first = socket.create_connection(("127.0.0.1", port))
second = socket.socket()
limit = len(os.listdir("/proc/self/fd")) + 5
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
second.connect(("127.0.0.1", port))
used = time.process_time()
time.sleep(1)
assert time.process_time() - used < 0.5, "it spins"
assert server.thread.is_alive()
for each in held:
    os.close(each)
until = time.monotonic() + 10
while len(server.connections) < 2:
    assert time.monotonic() < until, "it accepts no more"
    time.sleep(0.05)
thread = server.thread
server.shutdown()
thread.join(10)
assert not thread.is_alive(), "it does not end"
print("accepted")
"""


def test_a_shortage_of_descriptors_does_not_end_the_calls_of_java() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("accepted\n", 0), done.stderr
    assert done.stderr == ""
