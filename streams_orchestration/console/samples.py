"""Samples of streams for pages. The last sample of a stream is kept until there is another one."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from typing import Any

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.runtime import api

MAX_CACHED_SAMPLES = 100
"""The most streams whose last sample is kept; the least recently used stream is dropped first."""


@dataclass(slots=True)
class Samples:
    """The last samples of the streams that pages show."""

    home: api.Home
    _last: OrderedDict[tuple[str, str, str], api.Sample] = field(
        default_factory=OrderedDict[tuple[str, str, str], api.Sample]
    )

    def document(self, application: str, life: str, compilation: Compilation, stream: str) -> dict[str, Any]:
        """Read and keep a sample of a stream, and return the last one as JSON, with the reason if there is no new one.

        If no tuples pass now, the last sample stays. For any other reason it is dropped, and the sample is None.

        Args:
            application: the application's name.
            life: the life of the application; samples of an earlier one are not shown.
            compilation: the deployed compilation.
            stream: the name of the stream, physical or logical.

        Raises:
            NotDeployedError: the application is not deployed.
        """
        key = (application, life, stream)
        reason = None
        try:
            self._last[key] = api.read_sample(
                api.open_catalog(self.home, application), application, compilation, stream
            )
        except api.NothingPassesError as error:
            reason = str(error)
        except api.NoSampleError as error:
            self._last.pop(key, None)
            reason = str(error)
        sample = self._last.get(key)
        if sample is not None:
            self._last.move_to_end(key)
            while len(self._last) > MAX_CACHED_SAMPLES:
                self._last.popitem(last=False)
        return {"at": api.now(), "reason": reason, "sample": None if sample is None else asdict(sample)}
