"""How much of the backlog one micro-batch takes."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.spark.sources.auto_loader.options import DEFAULT_MAX_FILES, AutoLoaderOptions


def limit_options(options: AutoLoaderOptions, sizes: Sequence[int]) -> dict[str, str]:
    """Returns Spark's option for the batch limits; Spark takes files or bytes, not both.

    With both set, the bytes become a number of files, so small that no run of that many files among
    `sizes` (bytes of the known files, in the order in which they will be read) is larger; a file that is
    alone larger counts as nothing, because no limit can divide it. `maxFilesPerTrigger` always holds.
    """
    if options.max_bytes is None:
        return {"maxFilesPerTrigger": str(options.max_files or DEFAULT_MAX_FILES)}
    if options.max_files is None:
        return {"maxBytesPerTrigger": str(options.max_bytes)}
    return {"maxFilesPerTrigger": str(files_within(options.max_files, options.max_bytes, sizes))}


def files_within(max_files: int, max_bytes: int, sizes: Sequence[int]) -> int:
    """Returns the largest count up to `max_files` of which each run of `sizes` fits in `max_bytes`; at least 1."""
    divisible = [size for size in sizes if size <= max_bytes]
    fits = max_files
    start = total = 0
    for end, size in enumerate(divisible):
        total += size
        while total > max_bytes:
            fits = min(fits, end - start)
            total -= divisible[start]
            start += 1
    return max(1, fits)


def needs_sizes(options: AutoLoaderOptions) -> bool:
    """Whether `limit_options` looks at the sizes of the files."""
    return options.max_files is not None and options.max_bytes is not None
