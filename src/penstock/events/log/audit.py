"""The audit trail: a chain of `user_action` events that cannot be changed unnoticed.

Each has, in its details, `previous`, the hash of the action before it, and `hash`: SHA-256 of its own line as it is
in the segment, without the line's end and without the member `hash`. Whoever keeps the newest hash elsewhere notices
any action that is changed, taken out or put in, the newest ones too.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from penstock.errors.text import clean
from penstock.events.codec import encode, line_end
from penstock.events.flows.facts import details_of
from penstock.events.log.segments import list_segments, read_lines, try_decode
from penstock.events.types import Event, EventType
from penstock.storage import Storage

_KEY: Final = EventType.USER_ACTION.value
_END: Final = line_end(EventType.USER_ACTION)
_LIMIT: Final = 120
_TRIES: Final = 5
_HASH: Final = re.compile(rb',\\"hash\\":\\"([0-9a-f]{64})\\"(?=\}\}",' + re.escape(_END) + rb"$)")


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks for something, and from where.

    Attributes:
        user: the name of the account; None when it is not known.
        through: `command line` or `dashboard`.
        address: of the machine that it was requested from, None for the one that the event comes from.
    """

    user: str | None
    through: str
    address: str | None = None

    @classmethod
    def of_process(cls) -> Actor:
        """Returns the account that this process runs for, who became it by `sudo`, and where it logged in from."""
        user, behind = account(), os.environ.get("SUDO_USER")
        named = f"{user} (sudo by {behind})" if user and behind and behind != user else user
        return cls(named, "command line", os.environ.get("SSH_CONNECTION", "").partition(" ")[0] or None)


def user_action(
    action: str, *, by: Actor | None = None, arguments: Mapping[str, Any] | None = None
) -> tuple[str, dict[str, Any]]:
    """A person requested something: `action` is a word such as START, STOP or DROP.

    `by` is who requested it, by default the account that this process runs for.
    """
    actor = by or Actor.of_process()
    who = f" by {clean(actor.user, limit=_LIMIT)}" if actor.user else ""
    where = f" from {clean(actor.address, limit=_LIMIT)}" if actor.address else ""
    return f"{clean(action, limit=_LIMIT).lower().replace('_', ' ')}{who}{where}", {
        _KEY: {
            "action": action,
            "user_name": actor.user,
            "through": actor.through,
            "from": actor.address,
            "arguments": dict(arguments or {}),
        }
    }


class Tampering(Enum):
    """What is wrong with an action of the record."""

    CHANGED = "was changed after it was written"
    NOT_CHAINED = "was not written by Penstock"
    BEFORE_IS_MISSING = "does not follow the one before it: at least one was taken out, or this one put in"
    BEGINNING_IS_MISSING = "is the first one, but was not when it was written"
    READS_ARE_MISSING = "names a read that is gone: the newest reads of that time were taken out"


@dataclass(frozen=True, slots=True)
class RecordedAction:
    """One action of the record; `event` is None when its line cannot be read."""

    event: Event | None
    hash: str | None
    tampering: Tampering | None = None


def chained(event: Event, previous: str | None, *, reads: str | None = None) -> tuple[Event, str]:
    """Returns a `user_action` as it is to be written behind the action with the hash `previous`, and its own hash.

    `reads` is the hash of the newest read of then, see `penstock.events.log.reads`.
    """
    seal = {} if reads is None else {"reads": reads}
    action: dict[str, Any] = {**details_of(event), **seal, "previous": previous}
    action.pop("hash", None)
    details = {key: value for key, value in event.details.items() if key != _KEY}
    unsigned = replace(event, details={**details, _KEY: action})
    own = hashlib.sha256(encode(unsigned).rstrip("\n").encode("ascii")).hexdigest()
    return replace(event, details={**details, _KEY: {**action, "hash": own}}), own


def newest_hash(storage: Storage) -> str | None:
    """Returns the hash of the newest action of the log, None when there is none; reads from the log's end."""
    for _, segment in reversed(list_segments(storage)):
        content = storage.read_bytes(segment.uri)  # nothing compacts the log: whoever writes an action holds the lock
        end = len(content)
        while (end := content.rfind(_END + b"\n", 0, end)) >= 0:
            line = content[content.rfind(b"\n", 0, end) + 1 : end + len(_END)]
            if (found := _HASH.search(line)) is not None:
                return found[1].decode()
    return None


def recorded_actions(storage_uri: str) -> Iterator[RecordedAction]:
    """Yields the actions of a log, oldest first, each with what is wrong with it.

    Those of versions that did not chain them come without a hash; only behind one with a hash is that wrong.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED, STORAGE_EXTRA_MISSING.
    """
    return verified(_action_lines(Storage(storage_uri)))


def verified(lines: Iterable[bytes]) -> Iterator[RecordedAction]:
    """Yields the actions of a chain's lines, each with what is wrong with it."""
    before, chain_began = None, False
    for line in lines:
        event, found = try_decode(line), _HASH.search(line)
        if found is None:
            yield RecordedAction(event, None, Tampering.NOT_CHAINED if chain_began or event is None else None)
            continue
        own = hashlib.sha256(line[: found.start()] + line[found.end() :]).hexdigest()
        previous = None if event is None else details_of(event).get("previous")
        tampering: Tampering | None = None
        if event is None or own != found[1].decode():
            tampering = Tampering.CHANGED
        elif previous != before:
            tampering = Tampering.BEFORE_IS_MISSING if chain_began else Tampering.BEGINNING_IS_MISSING
        before, chain_began = found[1].decode(), True
        yield RecordedAction(event, before, tampering)


def _action_lines(storage: Storage) -> Iterator[bytes]:
    """Yields the lines of actions; a compaction that replaces segments meanwhile keeps them, and their order."""
    yielded = 0
    for again in range(_TRIES):
        known = 0
        try:
            for _, segment in list_segments(storage):
                for line, _ in read_lines(storage, segment.uri):
                    if line.endswith(_END):
                        known += 1
                        if known > yielded:
                            yielded += 1
                            yield line
        except FileNotFoundError:
            if again == _TRIES - 1:
                raise
        else:
            return


def account() -> str | None:
    """Returns the name of the account that this process runs for; environment variables do not count."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        try:
            return getpass.getuser()
        except (OSError, KeyError, ImportError):
            return None
