"""Samples of streams for pages: the last one of a stream stays until another one comes."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from typing import Any

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.runtime import api

KEPT = 100
"""Streams whose last sample is kept; the least recently used one is forgotten first."""


@dataclass(slots=True)
class Samples:
    """Samples of all streams that pages look at."""

    home: api.Home
    _last: OrderedDict[tuple[str, float, str], api.Sample] = field(
        default_factory=OrderedDict[tuple[str, float, str], api.Sample]
    )

    def document(self, application: str, deployed_at: float, compilation: Compilation, stream: str) -> dict[str, Any]:
        """Return a sample as JSON holds it, or the reason why there is none.

        Args:
            application: its name.
            deployed_at: unix seconds; what was seen of an earlier deployment is not shown.
            compilation: what it runs.
            stream: physical or logical.

        Raises:
            NotDeployedError: the catalog does not know it.
        """
        key = (application, deployed_at, stream)
        reason = None
        try:
            self._last[key] = api.read_sample(self.home, application, compilation, stream)
        except api.NothingPassesError as error:
            reason = str(error)
        except api.NoSampleError as error:
            self._last.pop(key, None)
            reason = str(error)
        sample = self._last.get(key)
        if sample is not None:
            self._last.move_to_end(key)
            while len(self._last) > KEPT:
                self._last.popitem(last=False)
        return {"at": api.now(), "reason": reason, "sample": None if sample is None else asdict(sample)}
