"""The result of one read of a KafkaSource."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from streams_orchestration.operators.kafka.offsets import Partition, Positions
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.batch import TupleBatch


class MessagePiece(NamedTuple):
    """The decoded tuples of consecutive messages."""

    tuples: TupleBatch
    bad: Sequence[tuple[Any, str]]
    """The messages that could not be decoded, each with the reason."""
    newest: float
    """The time of the last message, in seconds since 1970."""
    partitions: pa.DictionaryArray | None = None
    """The partition of each tuple; None outside of event time."""


class ReadResult(NamedTuple):
    """The result of reading from an offset."""

    positions: Positions
    """The next offset of each partition after reading."""
    read: dict[Partition, tuple[int, int]]
    """Maps each partition to the first offset that was read, and the offset after the last one."""
    tuples: TupleBatch | None = None
    """The decoded tuples; None if no message was read."""
    bad: Sequence[tuple[Any, str]] = ()
    """The messages that could not be decoded, each with the reason."""
    newest: float | None = None
    """The time of the newest message, in seconds since 1970; None without messages."""
    ended: frozenset[Partition] = frozenset()
    """The partitions that had no further message after this read."""
    partitions: pa.DictionaryArray | None = None
    """The partition of each tuple; None outside of event time."""

    def nbytes(self) -> int:
        """Return the size of the tuples in bytes; 0 without tuples."""
        return 0 if self.tuples is None else self.tuples.nbytes


def partition_name(partition: Partition) -> str:
    """Return `topic/number`, the name that a partition has in the source's partition watermarks."""
    return f"{partition[0]}/{partition[1]}"


def partitions_of_messages(messages: Sequence[Any], partitions: Iterable[Partition]) -> pa.DictionaryArray:
    """Return the name of the partition of each message."""
    codes = {partition: code for code, partition in enumerate(partitions)}
    of = np.fromiter((codes[each.topic(), each.partition()] for each in messages), np.int32, len(messages))
    return pa.DictionaryArray.from_arrays(of, [partition_name(each) for each in codes])


def joined(pieces: Sequence[MessagePiece]) -> pa.DictionaryArray | None:
    """Return the partitions of the tuples of all pieces; None outside of event time."""
    found = [piece.partitions for piece in pieces if piece.partitions is not None]
    return pa.chunked_array(found).unify_dictionaries().combine_chunks() if found else None
