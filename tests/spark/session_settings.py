"""What the one session of these tests is told, beyond Penstock's own defaults."""

from __future__ import annotations

from penstock.testing.session import SHORT_QUERIES

_JAVA = "spark.driver.extraJavaOptions"

CHOSEN = {
    # Compiling each query to Java would take a fifth of the time, the second compiler an eighth. Other tests do both.
    **SHORT_QUERIES,
    # Nearly all that a test makes is garbage soon: collected seldom, little of it is looked at.
    _JAVA: f"{SHORT_QUERIES[_JAVA]} -Xms2g -Xmn1200m",
    "spark.driver.memory": "2g",
    # Looking for passwords in the text of each plan would take a twentieth; unit tests have the real pattern.
    "spark.redaction.string.regex": "AKIA[0-9A-Z]{16}",
    "spark.sql.shuffle.partitions": "2",
}
