"""The line of the driver's log that says why a cluster does not work, in logs that Spark 4.2 has written."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.spark.session.driver_log import MasterState, cause, cause_in, yarn_has_answered

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


def test_an_application_in_the_queue_of_yarn_is_told_from_a_manager_that_is_away(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text(_YARN)
    assert not yarn_has_answered(log)
    log.write_text(f"{_YARN}{_AT} INFO o.a.s.d.y.Client [Thread-4] Application report for application_1 (state: X)\n")
    assert yarn_has_answered(log)


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
