"""The proof by data: every key of a state lies where the tuples of that key go."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from streams_orchestration.operators.states.rescaling import PortKeys
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.redeployment.routes import SplitterRoute


class MisplacedKeysError(StreamsRuntimeError):
    """Keys of a state do not lie in the channel that their tuples go to; names no value of a key."""

    def __init__(self, operator: str, attributes: tuple[str, ...], count: int, total: int) -> None:
        noun = "key" if total == 1 else "keys"
        super().__init__(
            f"state of {operator}: {count} of {total} {noun} of ({', '.join(attributes)}) would not be found, since "
            "tuples with them go to another channel. What the state calls by these names is not what the splitter "
            f"sees: keep to attributes that nothing changes on the way, or lose the state with --drop-state {operator}"
        )


def prove(operator: str, keys: Iterable[PortKeys], route: SplitterRoute, channel: int) -> None:
    """Hash every key, as the splitters do.

    Args:
        operator: physical name of the replica.
        keys: that lie in its state; those without all attributes that decide are not looked at.
        route: of the replicas.
        channel: which of them it is.

    Raises:
        MisplacedKeysError: a key lies here whose tuples go elsewhere.
    """
    for port, values in keys:
        attributes = route.attributes(port)
        if attributes is None or not set(attributes) <= set(values.schema.names):
            continue
        wrong = int(np.count_nonzero(route.channels(values, port) != channel))
        if wrong:
            raise MisplacedKeysError(operator, attributes, wrong, values.num_rows)
