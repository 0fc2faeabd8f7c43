"""The splitters of a plan as operators see them while their states are divided."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streams_orchestration.compiler.redeployment.outcome import StateRouting
from streams_orchestration.runtime.tasks.routing import nested_channels


class SplitterRoute:
    """A `Route` that computes the replica of tuples with the hash function of the splitters themselves."""

    def __init__(self, routing: StateRouting) -> None:
        self.width = routing.width
        self._routing = routing

    def attributes(self, port: int = 0) -> tuple[str, ...] | None:
        """Return the attributes that determine the replica for tuples of an input port.

        The result is () for one replica, and None if a splitter does not hash.
        """
        attributes: dict[str, None] = {}
        for level in self._routing.ports[port] if self._routing.ports else ():
            if level.width > 1:
                if level.feed.kind != "hash":
                    return None
                attributes |= dict.fromkeys(level.feed.attributes)
        return tuple(attributes)

    def channels(self, tuples: pa.RecordBatch, port: int = 0) -> np.ndarray:
        """Return the replica's index for every tuple of an input port, as an array of int64.

        Raises:
            ValueError: the attributes of a tuple do not determine its replica.
        """
        if self.attributes(port) is None:
            message = f"the tuples of input port {port} are not split by their attributes"
            raise ValueError(message)
        levels = self._routing.ports[port] if self._routing.ports else ()
        return nested_channels(tuples, ((each.width, each.feed.attributes) for each in levels if each.width > 1))
