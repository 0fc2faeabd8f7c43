"""The write path into a journal: messages that arrive at about the same time are written together."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence

from streams_orchestration import world
from streams_orchestration.operators.errors.errors import LOGGED
from streams_orchestration.operators.journal.records import Arrival
from streams_orchestration.operators.journal.writing import Journal, JournalFullError

FULL_PAUSE = 0.2
"""Seconds between attempts to write to a full journal."""

log = logging.getLogger("streams.receiver")


class ConflictError(Exception):
    """A key was repeated with different content."""


class Intake:
    """The interface by which a `JournalSource` writes to the journal and reports its status. Used in one event loop."""

    def __init__(self, journal: Journal, operator: str, owner: str = "") -> None:
        self.journal = journal
        self.operator = operator
        self.owner = owner
        """The catalog and application, which distinguish this operator from others of the same name."""
        self.counts: Counter[str] = Counter()
        """The number of events by kind, such as messages left out, since this process began to receive."""
        self._waiting: list[tuple[Arrival, asyncio.Future[None]]] = []
        self._under_way: dict[str, tuple[str, asyncio.Future[None]]] = {}
        """Maps the key of each write in progress to its digest and its future."""
        self._writer: asyncio.Task[None] | None = None
        self._place = ""
        self._began = False

    async def offer(self, values: Sequence[bytes], origin: str = "", key: str = "", digest: str = "") -> None:
        """Write messages. All of them are on disk when this returns.

        While a write under the same key is in progress, wait for it instead.

        Args:
            values: the values of the messages.
            origin: the sender, or the topic.
            key: the sender's idempotency key; messages under a known key are not written again.
            digest: the digest of the content; empty if a repeated key is accepted whatever its content.

        Raises:
            ConflictError: the key is known with another digest. Nothing was written.
            JournalFullError: there is no room, or the journal cannot be written or is closed. Nothing was written.
            DamagedError: an acknowledged message is missing in the journal. Nothing was written.
        """
        known, written = self._under_way.get(key, ("", None))
        known = known or self.journal.digest_of(key)
        if digest and known and digest != known:
            raise ConflictError(key)
        if not values or (key and self.journal.knows(key)):
            return
        if written is None:
            written = asyncio.get_running_loop().create_future()
            written.add_done_callback(_seen)
            self._waiting.append((Arrival(values, origin, world.now(), key, digest), written))
            if key:
                self._under_way[key] = digest, written
                written.add_done_callback(lambda _: self._under_way.pop(key))
            if self._writer is None or self._writer.done():
                self._writer = asyncio.create_task(self._write())
        await asyncio.shield(written)

    async def put(self, values: Sequence[bytes], origin: str = "", key: str = "") -> None:
        """Write like `offer`, but count a full journal and wait until there is room: back-pressure for the sender.

        Raises:
            DamagedError: an acknowledged message is missing in the journal.
        """
        while True:
            try:
                return await self.offer(values, origin, key)
            except JournalFullError as error:
                self.count("held back", "%s; senders wait until there is room", error)
                await asyncio.sleep(FULL_PAUSE)

    def receiving(self, place: str) -> None:
        """Report that receiving works, and at which address or topic; log a new address or topic."""
        if place != self._place:
            log.info("operator %s: receives at %s", self.operator, place)
        self._place, self._began = place, True
        self._report()

    def took_up_receiving(self) -> bool:
        """Return True if receiving began since the last call, and forget that it did."""
        began, self._began = self._began, False
        return began

    def failed(self, error: str, *, refused: bool) -> None:
        """Report why nothing can be received, and if a retry cannot help (`refused`). The source tells users."""
        self._place = ""
        self._report(error=error, refused=refused)

    def count(self, what: str, message: str, *arguments: object) -> None:
        """Count an event, such as a message left out or held back, and report the counts while receiving works.

        Log the first `LOGGED` of its kind, then only the 10th, 100th and so on.
        """
        self.counts[what] += 1
        if (number := self.counts[what]) <= LOGGED or str(number).strip("0") == "1":
            log.warning(f"operator %s: {message} (%d so far)", self.operator, *arguments, number)
        if self._place:
            self._report()

    def _report(self, **failure: object) -> None:
        facts = {"place": self._place, "counts": dict(self.counts), **failure}
        try:
            self.journal.files.report(facts)
        except OSError as error:  # a full disk: the log has it
            log.warning("operator %s: %s: %s", self.operator, self.journal.files.directory, error.strerror)

    async def _write(self) -> None:
        """Write waiting arrivals until there are none, and tell each sender that it is written or the error."""
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            arrivals = [arrival for arrival, _ in waiting]
            try:
                written = await asyncio.to_thread(self.journal.append, arrivals)
                problem: Exception = JournalFullError(f"{self.journal.files.directory}: the journal is full")
            except Exception as error:  # noqa: BLE001  the senders get the error
                written, problem = 0, error
            for number, (_, future) in enumerate(waiting):
                if future.done():  # the sender has gone; the written values stay
                    continue
                if number < written:
                    future.set_result(None)
                else:
                    future.set_exception(problem)


def _seen(future: asyncio.Future[None]) -> None:
    """Mark a future's exception as handled, since its sender may have disconnected and nobody else reads it."""
    if not future.cancelled():
        future.exception()
