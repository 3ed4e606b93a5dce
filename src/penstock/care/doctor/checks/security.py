"""Security: who can read, change or listen in, by the settings and the permissions of files."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from typing import Final

from penstock.care.doctor.checks.outcome import Check, Fault, NotApplicable, Outcome, Passed, judged, of_settings
from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.settings import SettingsFacts
from penstock.care.finding import SettingEdit, Subject

_CRYPTO: Final = "spark.network.crypto.enabled"
_TLS: Final = "spark.ssl.rpc.enabled"
_UI: Final = "spark.ui.enabled"
_ACLS: Final = "spark.acls.enable"
_AZURE: Final = ("abfs://", "abfss://")
_S3_ENCRYPTION: Final = "spark.hadoop.fs.s3a.encryption.algorithm"


def _is_on(settings: SettingsFacts, key: str) -> bool:
    return settings.conf.get(key, "false").casefold() == "true"


def _cluster_authentication(_facts: StorageFacts, settings: SettingsFacts) -> Outcome:
    if settings.authenticated:
        return Passed("spark.authenticate is on")
    return [
        Fault(Subject("setting", "spark.authenticate"), f"the driver of {settings.master} takes messages of anybody")
    ]


def _cluster_encryption(_facts: StorageFacts, settings: SettingsFacts) -> Outcome:
    if settings.local:
        return NotApplicable(f"Driver and tasks run in one process (master {settings.master}).")
    on = [key for key in (_CRYPTO, _TLS) if _is_on(settings, key)]
    if on:
        return Passed(f"{on[0]} is on")
    edit = SettingEdit(("spark_conf", _CRYPTO), "true") if settings.authenticated else None
    evidence = f"rows and settings go unencrypted between the driver and the executors of {settings.master}"
    return [Fault(Subject("setting", _CRYPTO), evidence, edit=edit)]


def _secrets_referenced(_facts: StorageFacts, settings: SettingsFacts) -> Outcome:
    faults = [
        Fault(Subject("setting", key), f"{key} has its secret in clear text in {settings.file}")
        for key in settings.plain_secrets
    ]
    return judged(faults, "no setting has a secret in clear text")


def _storage_encrypted(facts: StorageFacts, settings: SettingsFacts) -> Outcome:
    if facts.is_local:
        return NotApplicable("Whether a local disk is encrypted is not visible from here.")
    if facts.storage.startswith(_AZURE):
        return Passed("Azure encrypts whatever is stored")
    algorithm = settings.conf.get(_S3_ENCRYPTION)
    if algorithm is None:
        return NotApplicable("No algorithm is set: the bucket's own default encryption applies, which is not read.")
    return Passed(f"files are written with {algorithm}")


def _storage_private(facts: StorageFacts) -> Outcome:
    if facts.mode is None:
        reason = "There is no storage yet." if facts.is_local else "The store decides who may write, and is not asked."
        return NotApplicable(reason)
    if not facts.mode & stat.S_IWOTH:
        return Passed(f"permissions of the storage: {stat.filemode(facts.mode)}")
    evidence = f"any user of this machine may change {facts.storage} ({stat.filemode(facts.mode)})"
    return [Fault(Subject("storage", facts.storage), evidence, commands=(f"chmod o-w {facts.storage}",))]


def _ports_closed(_facts: StorageFacts, settings: SettingsFacts) -> Outcome:
    if _is_on(settings, _UI) and not _is_on(settings, _ACLS):
        edit = SettingEdit(("spark_conf", _UI), "false")
        return [Fault(Subject("setting", _UI), "the Spark UI is on and asks for no login", edit=edit)]
    return Passed("the Spark UI is off, or has access lists")


CHECKS: Final[Mapping[str, Check]] = {
    "cluster-authentication": of_settings(_cluster_authentication),
    "cluster-encryption": of_settings(_cluster_encryption),
    "secrets-referenced": of_settings(_secrets_referenced),
    "storage-encrypted": of_settings(_storage_encrypted),
    "storage-private": _storage_private,
    "ports-closed": of_settings(_ports_closed),
}
