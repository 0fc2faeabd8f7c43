"""Topics that were deleted and made anew, told by the ids that a cluster gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streams_orchestration.operators.kafka.client import KafkaAwayError, KafkaRefusedError
from streams_orchestration.operators.kafka.offsets import Positions
from streams_orchestration.operators.kafka.reader import KafkaReader


def made_anew(reader: KafkaReader, positions: Positions, topics: Iterable[str]) -> Iterator[str]:
    """Yield the topics whose id is another one than that of the positions, which get the id of each.

    Raises:
        KafkaAwayError, KafkaRefusedError: the cluster does not tell ids that it has told before.
    """
    names = sorted(topics)
    try:
        ids = reader.topic_ids(names) if names else {}
    except (KafkaAwayError, KafkaRefusedError):
        if positions.topics:
            raise
        return  # a cluster that may know no ids
    for topic, id in ids.items():
        known = positions.topics.get(topic, id)
        if known != id:
            yield topic
        positions.topics[topic] = id
