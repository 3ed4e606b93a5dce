"""In which batches a flow counts how late its rows come: the setting `pipelines.watermark.lateness`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

LATENESS: Final = "pipelines.watermark.lateness"


class LatenessCounting(Enum):
    """The values of the setting; `sample`, unless set: a few of the first batches, and later ones now and then."""

    SAMPLE = "sample"
    EACH_BATCH = "true"
    NEVER = "false"

    @classmethod
    def of(cls, settings: Mapping[str, object]) -> LatenessCounting:
        """Returns what the `spark_conf` of a flow says, in any case of letters.

        Raises:
            ValueError: it says something else.
        """
        return cls(str(settings.get(LATENESS, cls.SAMPLE.value)).casefold())
