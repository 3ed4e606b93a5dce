"""Why S3 has refused a HEAD: the answer to one has no body, so a listing is asked for, whose answer has one."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

from py4j.protocol import Py4JJavaError

from penstock.spark._jvm import java_session, jvm
from penstock.spark.failures.causes import failure_messages
from penstock.spark.session.ask_within import ask_within
from penstock.spark.session.session import running_session
from penstock.storage.stores.s3.settings import NO_FOLDER

_SECONDS: Final = 5.0
_BUCKET: Final = re.compile(r"\bs3a?://[^/\s:]+")


def reason_of_refusal(message: str) -> str:
    """Returns what the store says when the driver asks for a listing of the bucket in `message`.

    Spark's own client asks, so with its credentials, which need not be those of an executor. Empty when it answers, or
    not within five seconds, and without a session.
    """
    bucket, spark = _BUCKET.search(message), running_session()
    if bucket is None or spark is None:
        return ""

    def ask() -> str:
        path = jvm(spark).org.apache.hadoop.fs.Path(f"{bucket[0]}/{NO_FOLDER}")
        try:
            path.getFileSystem(java_session(spark).sessionState().newHadoopConf()).listStatus(path)
        except Py4JJavaError as error:
            return "\n".join(failure_messages(error))
        return ""

    with suppress(TimeoutError):
        return ask_within(_SECONDS, ask)
    return ""
