"""A JVM that dies during a call leaves no stack trace of py4j on the terminal; other messages stay."""

import subprocess
import sys

_CALL_A_SERVER_THAT_HANGS_UP = """
import logging, os, socket, struct, sys, threading
from py4j.clientserver import ClientServer, JavaParameters
from penstock.spark.session.driver_log import report_failures_only_once

if sys.argv[1] == "quiet":
    report_failures_only_once()
server = socket.create_server(("127.0.0.1", 0))

def hang_up():
    connection, _ = server.accept()
    connection.recv(100)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()

threading.Thread(target=hang_up, daemon=True).start()
gateway = ClientServer(java_parameters=JavaParameters(port=server.getsockname()[1]))
assert gateway._gateway_client.send_command("c\\nt\\nhello\\ne\\n", retry=False) == "x"
logging.getLogger("penstock").warning("still heard")
logging.warning("heard as well")
sys.stderr.flush()
os._exit(0)
"""


def _stderr_of(mode: str) -> str:
    program = [sys.executable, "-c", _CALL_A_SERVER_THAT_HANGS_UP, mode]
    done = subprocess.run(program, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_py4j_prints_a_stack_trace_by_itself() -> None:
    assert "Traceback" in _stderr_of("as it is")


def test_a_call_that_the_jvm_did_not_survive_prints_nothing() -> None:
    stderr = _stderr_of("quiet")
    assert "Traceback" not in stderr
    assert "still heard" in stderr
    assert "heard as well" in stderr
