"""A source that receives letters into a journal, and the senders of a simulation, who repeat them until it has them."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from unittest.mock import patch

from pydantic import Field

from streams_orchestration.operators.contract.operator import Offset, ProducedTo
from streams_orchestration.operators.journal import writing
from streams_orchestration.operators.journal.intake import Intake
from streams_orchestration.operators.journal.records import JournalMessage
from streams_orchestration.operators.journal.source import JournalParameters, JournalSource
from streams_orchestration.runtime.hosts import receivers

SEGMENT_BYTES = 1_500
"""The size of a journal's segments, so that there are several and old ones are removed."""
ENVELOPE_INTERVAL_SECONDS = 0.07
"""Seconds between two envelopes."""
TRIM_SECONDS = 0.5
"""Seconds between two searches for segments that nobody needs any more."""
TOGETHER = 3
"""Letters in one envelope, which have one key."""


def letter(number: int) -> bytes:
    """Return the letter of a number; the first one has number 1."""
    return json.dumps({"k": f"A{number % 7}", "n": number}).encode()


@dataclass
class Senders:
    """The letters that were sent, and those that were acknowledged."""

    pause: float
    """Seconds between two envelopes."""
    acknowledged: int = 0
    """The number of the last letter that was acknowledged."""
    lose_next: bool = False
    """True if the next acknowledgement does not reach the senders."""
    sent: list[int] = field(default_factory=list[int])
    """The first letter of each envelope in the order in which they were sent, again and again if need be."""


class _Office:
    """The senders of the simulation that runs; None without one, when all letters are there at once."""

    senders: Senders | None = None


OFFICE = _Office()


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Let letters be sent within a block, and segments of journals be small and removed soon."""
    OFFICE.senders = Senders(ENVELOPE_INTERVAL_SECONDS)
    try:
        small = patch.object(writing, "SEGMENT_BYTES", SEGMENT_BYTES)
        with small, patch.object(receivers, "TRIM_SECONDS", TRIM_SECONDS):
            yield
    finally:
        OFFICE.senders = None


class MailboxParameters(JournalParameters):
    """The parameters of a Mailbox."""

    letters: int = Field(ge=1, description="Letters that are sent.")


class Mailbox(JournalSource):
    """A source of letters; it ends with the last one."""

    Parameters = MailboxParameters

    async def receive(self, intake: Intake) -> None:
        """Take the letters that were not acknowledged yet."""
        senders = OFFICE.senders
        assert senders is not None
        intake.receiving("the letter box")
        while (first := senders.acknowledged + 1) <= self.parameters.letters:
            await asyncio.sleep(senders.pause)
            last = min(first + TOGETHER - 1, self.parameters.letters)
            senders.sent.append(first)
            await intake.put([letter(number) for number in range(first, last + 1)], "post", f"envelope {first}")
            if not senders.lose_next:
                senders.acknowledged = max(senders.acknowledged, last)
            senders.lose_next = False
        await asyncio.Event().wait()

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit the next letters."""
        letters = self.parameters.letters
        if OFFICE.senders is not None:
            offset = super().produce(offset, limit).offset
        else:
            begin = offset.get("next", 1)
            end = min(begin + limit, letters + 1)
            messages = [JournalMessage(number, letter(number), "post", 0.0) for number in range(begin, end)]
            if messages:
                self._submit(messages)
            offset = {"journal": "none", "next": end}
        return ProducedTo(offset, exhausted=bool(offset) and offset["next"] > letters)
