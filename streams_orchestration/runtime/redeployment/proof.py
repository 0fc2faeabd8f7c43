"""The proof by data: every key of a state is in the channel to which the splitters send the tuples of that key."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from streams_orchestration.operators.states.rescaling import PortKeys
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.redeployment.routes import SplitterRoute


class MisplacedKeysError(StreamsRuntimeError):
    """The error that keys of a state are not in the channel of their tuples. The message contains no key."""

    def __init__(self, operator: str, attributes: tuple[str, ...], count: int, total: int) -> None:
        noun = "key" if total == 1 else "keys"
        super().__init__(
            f"state of {operator}: {count} of {total} {noun} of ({', '.join(attributes)}) would not be found, since "
            "tuples with them go to another channel. What the state calls by these names is not what the splitter "
            f"sees: keep to attributes that nothing changes on the way, or lose the state with --drop-state {operator}"
        )


def prove(operator: str, keys: Iterable[PortKeys], route: SplitterRoute, channel: int) -> None:
    """Check every key of a replica's state by hashing it as the splitters do.

    Args:
        operator: physical name of the replica.
        keys: keys in its state, per input port. Keys that lack an attribute of the splitter are not checked.
        route: the splitters of the replicas.
        channel: index of this replica.

    Raises:
        MisplacedKeysError: the tuples of a key go to another channel.
    """
    for port, values in keys:
        attributes = route.attributes(port)
        if attributes is None or not set(attributes) <= set(values.schema.names):
            continue
        wrong = int(np.count_nonzero(route.channels(values, port) != channel))
        if wrong:
            raise MisplacedKeysError(operator, attributes, wrong, values.num_rows)
