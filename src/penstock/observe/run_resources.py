"""Whether a run takes so much of the operating system that it will soon fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from penstock.errors import ExternalError
from penstock.observe.numbers import byte_size
from penstock.storage.process_resources import ProcessResources

_DESCRIPTOR_SHARE: Final = 0.8
_THREADS: Final = 2000
_LOG_BYTES: Final = 100_000_000


def resource_warnings(processes: Iterable[ProcessResources]) -> Iterator[ExternalError]:
    """Yields what is wrong with the processes of a run, from `resources_of_run`.

    RUN_DESCRIPTORS_LOW when over 80 % of the limit of file descriptors are open, RUN_THREADS_MANY for more than 2,000
    threads, RUN_LOG_LARGE for output of more than 100 MB, once a file.
    """
    logs: set[str] = set()
    for each in processes:
        of_process = partial(ExternalError, pid=each.pid, program=each.name)
        if each.descriptor_limit is not None and each.descriptors > _DESCRIPTOR_SHARE * each.descriptor_limit:
            yield of_process("RUN_DESCRIPTORS_LOW", open=f"{each.descriptors:,}", limit=f"{each.descriptor_limit:,}")
        if each.threads > _THREADS:
            yield of_process("RUN_THREADS_MANY", threads=f"{each.threads:,}")
        for log in each.logs:
            if log.size > _LOG_BYTES and log.path not in logs:
                logs.add(log.path)
                yield of_process("RUN_LOG_LARGE", size=byte_size(log.size), log=log.path)
