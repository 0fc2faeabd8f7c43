"""The positions of a KafkaSource, one next offset per partition, and their division among channels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from streams_orchestration.operators.states.rescaling import RescaleError

Partition = tuple[str, int]
"""The topic and the partition number."""


@dataclass
class Positions:
    """The read positions of one channel."""

    next: dict[Partition, int] = field(default_factory=dict)
    """The next offset to read of each partition."""
    end: dict[Partition, int] | None = None
    """The offsets at which a finite run ends; None for an endless run."""
    topics: dict[str, str] = field(default_factory=dict)
    """Maps each topic to its id in the cluster, if known. A topic that is created again has another id."""

    @classmethod
    def of(cls, offset: dict[str, Any]) -> Positions:
        """Return the positions that a source's JSON offset contains; an empty one gives none, and an endless run."""
        end = _flat(offset["end"]) if "end" in offset else None
        return cls(_flat(offset.get("next", {})), end, dict(offset.get("topics", {})))

    def offset(self) -> dict[str, Any]:
        """Return the positions as JSON, without `end` in an endless run, and without `topics` if none is known."""
        offset: dict[str, Any] = {"next": _nested(self.next)}
        if self.end is not None:
            offset["end"] = _nested(self.end)
        if self.topics:
            offset["topics"] = dict(sorted(self.topics.items()))
        return offset

    def shown(self, topic: str) -> str:
        """Return the positions in one topic as text, for messages."""
        own = sorted((number, at) for (name, number), at in self.next.items() if name == topic)
        return ", ".join(f"offset {at} of partition {number}" for number, at in own)

    def begin(self, topic: str, ranges: dict[Partition, tuple[int, int]]) -> None:
        """Restart a recreated topic at the first offsets of its partitions. A finite run ends at their current ends.

        Args:
            topic: the topic that was created again.
            ranges: for each of its partitions, the first offset and the one after the last.
        """
        self.next = {each: at for each, at in self.next.items() if each[0] != topic}
        self.next |= {each: first for each, (first, _) in ranges.items()}
        if self.end is not None:
            self.end = {each: at for each, at in self.end.items() if each[0] != topic}
            self.end |= {each: last for each, (_, last) in ranges.items()}

    def end_at(self, ends: dict[Partition, int], first: Callable[[Partition], int]) -> None:
        """End the run at the given offsets.

        Partitions without a position are read from their beginning, those without an end are read no further.

        Args:
            ends: maps each partition to the offset after the last message to read.
            first: returns the first offset of a partition.
        """
        self.next |= {each: first(each) for each in ends if each not in self.next}
        self.end = {each: max(ends.get(each, following), following) for each, following in self.next.items()}

    def before_end(self, messages: Sequence[Any]) -> Sequence[Any]:
        """Return the messages before the end of a finite run, after the positions have passed all of them."""
        end = self.end
        if end is None or all(following <= end[each] for each, following in self.next.items()):
            return messages
        return [each for each in messages if each.offset() < end[each.topic(), each.partition()]]

    def stop_at_end(self) -> None:
        """Move positions beyond the end of a finite run back to its end."""
        if self.end is not None:
            self.next.update({each: min(following, self.end[each]) for each, following in self.next.items()})

    def exhausted(self) -> bool:
        """Return True if a finite run has read everything."""
        return self.end is not None and all(self.next[partition] >= end for partition, end in self.end.items())


def mine(partitions: Iterable[Partition], channel: int, width: int) -> list[Partition]:
    """Return the partitions whose number modulo `width` is the channel, which reads them; all if `width` is below 2."""
    return sorted(each for each in partitions if width < 2 or each[1] % width == channel)


def divided(offsets: Sequence[dict[str, Any]], width: int) -> list[dict[str, Any]]:
    """Divide the offsets of all channels among `width` new channels; they are empty if no channel has begun to read.

    Raises:
        RescaleError: some channels have begun to read and others have not.
    """
    begun = [Positions.of(offset) for offset in offsets if offset]
    if not begun:
        return [{} for _ in range(width)]
    if len(begun) < len(offsets):
        message = "has channels that have not begun to read; redeploy when all have"
        raise RescaleError(message)
    every = {partition: following for each in begun for partition, following in each.next.items()}
    ends = {partition: end for each in begun for partition, end in (each.end or {}).items()}
    topics = {topic: id for each in begun for topic, id in each.topics.items()}
    finite = any(each.end is not None for each in begun)
    return [
        Positions(
            _of_channel(every, channel, width), _of_channel(ends, channel, width) if finite else None, topics
        ).offset()
        for channel in range(width)
    ]


def _of_channel(values: dict[Partition, int], channel: int, width: int) -> dict[Partition, int]:
    return {partition: values[partition] for partition in mine(values, channel, width)}


def _flat(nested: dict[str, dict[str, int]]) -> dict[Partition, int]:
    return {(topic, int(number)): value for topic, values in nested.items() for number, value in values.items()}


def _nested(flat: dict[Partition, int]) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (topic, number), value in sorted(flat.items()):
        nested.setdefault(topic, {})[str(number)] = value
    return nested
