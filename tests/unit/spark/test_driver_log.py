"""The line of the driver's log that says why a cluster does not work, in logs that Spark 4.2 has written."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.spark.session.driver_log import (
    MasterState,
    cause,
    cause_in,
    kubernetes_refusal,
    yarn_application,
    yarn_has_answered,
)

_AT = "2026-11-25T18:00:04.014Z"
_REFUSED = f"""\
{_AT} WARN o.a.s.d.c.StandaloneAppClient$ClientEndpoint [register] Failed to connect to master 127.0.0.1:1
org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:70)
Caused by: java.io.IOException: Failed to connect to /127.0.0.1:1
\t... 4 more
Caused by: io.netty.channel.X: finishConnect(..) failed: Connection refused: /127.0.0.1:1
Caused by: java.net.ConnectException: finishConnect(..) failed with error(-111): Connection refused
\tat io.netty.channel.unix.Errors.newConnectException0(Errors.java:166)
"""
_SECRET = f"""\
{_AT} WARN o.a.s.d.c.StandaloneAppClient$ClientEndpoint [register] Failed to connect to master 127.0.0.1:1
Caused by: javax.security.sasl.SaslException: Mismatched response.
"""
_IMAGE = f"""\
{_AT} WARN o.a.s.s.c.k.ExecutorPodsSnapshotsStoreImpl [snapshots] Exception when notifying snapshot subscriber.
org.apache.spark.SparkException: Must specify the executor container image
{_AT} WARN o.a.s.s.TaskSchedulerImpl [t] Initial job has not accepted any resources; check your cluster UI
"""
_FORBIDDEN = 'pods is forbidden: User "x" cannot create resource "pods"'
_API = "http://127.0.0.1:1/api/v1/namespaces/default"
_KUBERNETES = f"""\
{_AT} WARN o.a.s.u.Utils [main] Kubernetes master URL uses HTTP instead of HTTPS.
{_AT} ERROR o.a.s.SparkContext [Thread-4] Error initializing SparkContext.
X: Received 403 on websocket. Failure executing: GET at: {_API}/pods?x=y. Message: Forbidden.
{_AT} ERROR o.a.s.s.c.k.ExecutorPodsAllocator [x] Failed to create executor pod 1. Total failures: 1
Caused by: X: Failure executing: POST at: {_API}/pods. Message: {_FORBIDDEN}. Received status: x
X: Failure executing: DELETE at: {_API}/configmaps. Message: Unauthorized. Received status: x
"""
_YARN = f"""\
{_AT} WARN o.a.h.u.NativeCodeLoader [main] Unable to load native-hadoop library for your platform...
{_AT} INFO o.a.h.i.Client [Thread-4] Retrying connect to server: localhost/127.0.0.1:1. Already tried 0 time(s)
"""


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (_REFUSED, "java.net.ConnectException: finishConnect(..) failed with error(-111): Connection refused"),
        (
            _SECRET,
            "spark.authenticate.secret is not the cluster's (javax.security.sasl.SaslException: Mismatched response)",
        ),
        (_IMAGE, "org.apache.spark.SparkException: Must specify the executor container image"),
        (_KUBERNETES, f"{_FORBIDDEN} (POST /api/v1/namespaces/default/pods)"),
        (_YARN, "Retrying connect to server: localhost/127.0.0.1:1. Already tried 0 time(s)"),
        ("", None),
    ],
)
def test_the_decisive_line_is_quoted(log: str, expected: str | None) -> None:
    assert cause_in(log.splitlines()) == expected


def test_another_warning_is_quoted_only_where_it_was_asked_for() -> None:
    log = [f"{_AT} WARN o.a.h.u.NativeCodeLoader [main] Unable to load", f"{_AT} ERROR o.a.s.X [main] Something else."]
    assert cause_in(log) is None
    assert cause_in([*log, f"{_AT} INFO o.a.s.Y [main] Fine"], or_warning=True) == "Something else"


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert cause(tmp_path / "x.log") is None
    assert not MasterState(tmp_path / "x.log").look()


def test_what_kubernetes_refused_is_told_from_other_failures(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text(_REFUSED)
    assert kubernetes_refusal(log) is None
    log.write_text("\n".join(_KUBERNETES.splitlines()[:3]))
    assert kubernetes_refusal(log) == "Forbidden (GET /api/v1/namespaces/default/pods)"
    log.write_text(_KUBERNETES)
    assert kubernetes_refusal(log) == f"{_FORBIDDEN} (POST /api/v1/namespaces/default/pods)"


def test_a_warning_that_explains_nothing_is_not_quoted() -> None:
    assert cause_in(_KUBERNETES.splitlines()[:2], or_warning=True) is None


def test_what_yarn_has_taken_is_told_from_a_manager_that_is_away(tmp_path: Path) -> None:
    log, client = tmp_path / "x.log", "INFO o.a.s.d.y.Client [Thread-4]"
    log.write_text(_YARN)
    assert not yarn_has_answered(log)
    uploads = f"{_YARN}{_AT} {client} Verifying our application has not requested more than the maximum memory\n"
    log.write_text(uploads)
    assert yarn_has_answered(log)
    assert yarn_application(log) is None
    log.write_text(f"{uploads}{_AT} {client} Submitting application application_17_0001 to ResourceManager\n")
    assert yarn_application(log) == "application_17_0001"


def test_the_master_is_lost_and_comes_back(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    lost = f"{_AT} WARN o.a.s.s.c.StandaloneSchedulerBackend [d] Disconnected from Spark cluster!\n"
    log.write_text(_REFUSED)
    master = MasterState(log)
    assert not master.look()
    with log.open("a") as file:
        file.write(lost[:80])
        file.flush()
        assert not master.look()
        file.write(lost[80:])
    assert master.look()
    assert master.look()
    with log.open("a") as file:
        file.write(f"{_AT} INFO o.a.s.d.c.X [d] Master has changed, new master is at spark://x:7077\n")
    assert not master.look()
    log.write_text(lost)  # rolled over
    assert master.look()
