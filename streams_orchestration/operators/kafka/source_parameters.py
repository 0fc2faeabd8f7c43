"""The parameters of a KafkaSource."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from pydantic import Field

from streams_orchestration.expressions.functions.patterns import PATTERN_ERRORS, fault_of
from streams_orchestration.operators.kafka.client import KafkaParameters
from streams_orchestration.operators.messages.decoders import MessageParameters
from streams_orchestration.operators.messages.registered import TopicFormat, check_registry
from streams_orchestration.operators.messages.registry import RegistryParameters

METADATA = ("key", "topic", "partition", "offset", "timestamp")
HEADER = "header."
BAD = {"topic": "string", "partition": "int", "offset": "bigint", "reason": "string", "message": "string"}
"""Attributes that the second output port may have, with their types."""


class KafkaSourceParameters(KafkaParameters, MessageParameters):
    """The parameters of `KafkaSource`."""

    topic: str | list[str] | None = Field(
        default=None, description="Topic, or a list of topics; pattern is the alternative."
    )
    pattern: str | None = Field(
        default=None, description="A regular expression that must match the whole name of a topic."
    )
    format: TopicFormat = Field(default="json", description="Format of a message.")
    registry: RegistryParameters | None = Field(
        default=None, repr=False, description="Schema registry for avro and protobuf: {url: http://host:port}."
    )
    metadata: dict[str, str] = Field(
        default_factory=dict,
        description="Maps an attribute to key, topic, partition, offset, timestamp or header.NAME.",
    )
    start_at: str = Field(
        default="earliest",
        alias="startAt",
        description="Position at which reading begins: earliest, latest or a time in ISO 8601.",
    )
    until: Literal["latest"] | None = Field(
        default=None, description="latest: end the run after the messages that exist when it begins."
    )
    isolation: Literal["read_committed", "read_uncommitted"] = Field(
        default="read_committed", description="read_committed: read only messages of committed transactions."
    )
    discovery: float = Field(default=30.0, gt=0, description="Seconds between two checks for new partitions.")

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        if (self.topic is None) == (self.pattern is None) or self.topic == []:
            yield "give either topic or pattern"
        if self.pattern is not None:
            try:
                re.compile(self.pattern)
            except PATTERN_ERRORS as error:
                yield f"pattern: {self.pattern:.200} is not a regular expression: {fault_of(error)}"
        check_registry(self.format, self.registry)
        if self.start_at not in ("earliest", "latest"):
            self.start_time()
        for attribute, kind in self.metadata.items():
            if kind not in METADATA and not (kind.startswith(HEADER) and kind != HEADER):
                yield f"metadata: {attribute}: {kind} is not one of {', '.join(METADATA)} and header.NAME"

    @property
    def topics(self) -> list[str]:
        """The topics that `topic` names; empty with a pattern."""
        return [self.topic] if isinstance(self.topic, str) else list(self.topic or ())

    def start_time(self) -> int:
        """Return `startAt` in milliseconds since 1970.

        Raises:
            ValueError: it is not a time, or has no zone.
        """
        try:
            moment = datetime.fromisoformat(self.start_at)
        except ValueError:
            message = f"startAt is earliest, latest or a time as 2026-01-31T12:00:00+00:00, not {self.start_at!r}"
            raise ValueError(message) from None
        if moment.tzinfo is None:
            message = f"startAt: {self.start_at} has no time zone; write one, as in +00:00"
            raise ValueError(message)
        return int(moment.timestamp() * 1000)
