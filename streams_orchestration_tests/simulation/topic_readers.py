"""Readers of the topics that sinks write to: after each transaction they judge what they see."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from streams_orchestration_tests.chaos.shapes import Tuples
from streams_orchestration_tests.simulation.brokers import Broker, Transaction
from streams_orchestration_tests.simulation.compared import difference


@dataclass
class TopicReaders:
    """The messages and marks that were seen at the last transaction."""

    broker: Broker
    topics: Mapping[str, str]
    """Topic -> the sink that writes to it."""
    wanted: Mapping[str, Tuples]
    """Topic -> the tuples of an undisturbed run."""
    ordered: Collection[str]
    by_key: bool
    counted: Callable[[str], int]
    """Returns the number of rows of a sink that the catalog counts as delivered."""
    _seen: dict[str, Tuples] = field(default_factory=dict[str, Tuples])
    _marks: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Group -> generation and number of its last delivery."""
    _found: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.broker.on_transaction = self._check_mark

    def __call__(self) -> Iterator[str]:
        """Messages stay, and are a part of the undisturbed result, in the same order."""
        yield from self._found
        for topic in self.topics:
            rows, before = self.broker.visible(topic), self._seen.get(topic, [])
            self._seen[topic] = rows
            if not set(before) <= set(rows):
                yield f"{topic}: messages that readers saw are gone"
            is_line = topic in self.ordered and not self.by_key
            if found := difference(rows, self.wanted[topic], in_order=True, by_key=not is_line):
                yield f"{topic}: {found}"

    def look_at_catalog(self) -> Iterator[str]:
        """Check that the topic has all rows that the catalog counts as delivered."""
        for topic, sink in self.topics.items():
            if (counted := self.counted(sink)) > (there := len(self._seen.get(topic, []))):
                yield f"{sink}: {counted} rows count as delivered, and topic {topic} has {there}"

    def _check_mark(self, transaction: Transaction) -> None:
        """Check that a transaction has messages and the mark of one delivery, later than the previous one."""
        if not transaction.messages or len(transaction.offsets) != 1:
            self._found.append(f"a transaction has {transaction.messages} messages and marks {transaction.offsets}")
            return
        ((group, offset),) = transaction.offsets.items()
        _, generation, number, _ = json.loads(str(offset.metadata))
        before = self._marks.get(group, (-1, -1))
        if (generation, number) <= before:
            self._found.append(f"{group}: the mark {(generation, number)} comes after {before}")
        self._marks[group] = generation, number
