"""Python's port for calls from the JVM: only the JVM may call there.

PySpark starts it without a secret, so that any user of this machine could call the functions of running streams. The
JVM's side has the secret of the gateway, but py4j's copy of it for the real port (`PythonClient.copyWith`) leaves it
out, and no public method gives it back.
"""

from __future__ import annotations

from typing import Any

from pyspark.java_gateway import ensure_callback_server_started


def require_secret_of_callbacks(gateway: Any, secret: str) -> None:
    """Starts the port, and has both sides of it use the gateway's `secret`."""
    ensure_callback_server_started(gateway)
    client = gateway.java_gateway_server.getCallbackClient()
    field = client.getClass().getSuperclass().getDeclaredField("authToken")
    field.setAccessible(True)
    field.set(client, secret)
    gateway.callback_server_parameters.auth_token = secret
