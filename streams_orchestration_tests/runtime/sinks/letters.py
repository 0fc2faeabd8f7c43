"""A sink that delivers to a file, and what it has delivered."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from streams_orchestration.model.visibility import Visibility
from streams_orchestration.operators.contract.operator import Parameters
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import EpochSink
from streams_orchestration.operators.tuples.batch import TupleBatch


class LetterParameters(Parameters):
    place: str


LOADED = threading.Event()


class Letters(EpochSink):
    """Writes what it gets to a file, a line for each delivery; refuses while there is a file `closed`."""

    Parameters = LetterParameters

    def load(self) -> None:
        LOADED.set()
        raise ImportError

    def deliver(self, key: DeliveryKey, batches: Iterator[TupleBatch]) -> None:
        place = Path(self.parameters.place)
        if (place / "closed").exists():
            message = "the office is closed; open it"
            raise ValueError(message)
        tuples = [list(row.values()) for batch in batches for row in batch.to_pylist()]
        with (place / "letters").open("a") as file:
            file.write(json.dumps([str(key), tuples]) + "\n")


class NumberedLetterParameters(LetterParameters):
    visibility: Visibility = "read_uncommitted"


class NumberedLetters(Letters):
    """Knows which letters it has written, by the numbers of their batches."""

    Parameters = NumberedLetterParameters
    joins_batches = True

    def is_made(self, key: DeliveryKey) -> bool:
        written = letters(Path(self.parameters.place))
        return any(int(name.rpartition(".")[2]) >= key.number for name, _ in written)


def letters(tmp_path: Path) -> list[tuple[str, list[tuple[Any, ...]]]]:
    if not (tmp_path / "letters").exists():
        return []
    lines = map(json.loads, (tmp_path / "letters").read_text().splitlines())
    return [(key.partition("/")[2], [tuple(row) for row in tuples]) for key, tuples in lines]
