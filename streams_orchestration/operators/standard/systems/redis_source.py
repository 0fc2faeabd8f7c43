"""RedisSource: reads entries of a Redis stream with a consumer group, by way of a journal."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, ClassVar, Literal

from pydantic import Field

from streams_orchestration.operators.brokers.address import (
    CLOSE_SECONDS,
    CONNECT_SECONDS,
    BrokerParameters,
    Delivery,
    take,
    tls_error,
)
from streams_orchestration.operators.brokers.position import BrokerPosition
from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.errors import RefusedError
from streams_orchestration.operators.journal.intake import Intake
from streams_orchestration.operators.journal.source import JournalSource

MAX_READ_ENTRIES = 500
"""Entries per read. It is far below the number of remembered keys, since unacknowledged entries may be repeated."""
BLOCK_MILLISECONDS = 2000
CONSUMER = "streams"
_PASSING = (
    "NOGROUP",
    "READONLY",
    "MASTERDOWN",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "OOM",
    "MISCONF",
    "LOADING",
    "BUSY ",
    "NOREPLICAS",
    "UNBLOCKED",
)
"""Prefixes of temporary errors: of a server that is starting, out of memory, or failing over."""


class RedisSourceParameters(BrokerParameters):
    """The parameters of `RedisSource`."""

    schemes: ClassVar[dict[str, int]] = {"redis": 6379, "rediss": 6379}
    stream: str = Field(min_length=1, description="Key of the stream, which is created if it is missing.")
    group: str | None = Field(
        default=None,
        min_length=1,
        description="Consumer group, created if it is missing. Default: one for this operator.",
    )
    field: str = Field(default="data", min_length=1, description="Field of an entry that holds the message.")
    start_at: Literal["earliest", "latest"] = Field(
        default="earliest", alias="startAt", description="Position at which a new group begins."
    )


class RedisSource(JournalSource):
    """Acknowledges an entry once it is in the journal. A repeated entry is recognised by its id."""

    Parameters = RedisSourceParameters
    origin = "stream"
    package = ("redis", "redis", "redis")
    loaded_modules = ("redis", "redis.asyncio")

    @classmethod
    def destination(cls, context: OperatorContext, parameters: RedisSourceParameters) -> str:
        """Return the stream and server."""
        return f"{parameters.stream} at {parameters.url}"

    async def receive(self, intake: Intake) -> None:
        """Read as a consumer of the group, which is created if it is missing, until cancelled."""
        from redis import exceptions
        from redis.asyncio import Redis

        settings: RedisSourceParameters = self.parameters
        client: Any = Redis.from_url(
            settings.url,
            username=settings.secret("user"),
            password=settings.secret("password"),
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=CONNECT_SECONDS + BLOCK_MILLISECONDS / 1000,
        )
        try:
            await self._read(intake, client)
        except exceptions.RedisError as error:
            raise self.explained(error) from None
        finally:
            with contextlib.suppress(exceptions.RedisError, OSError):
                await asyncio.wait_for(client.aclose(), CLOSE_SECONDS)

    def explained(self, error: Exception) -> Exception:
        """Translate an error of the library: a RefusedError if a retry cannot help, else a ConnectionError."""
        from redis import exceptions

        url, stream = self.parameters.url, self.parameters.stream
        if isinstance(
            error, exceptions.AuthenticationError | exceptions.NoPermissionError | exceptions.AuthorizationError
        ):
            return RefusedError(f"{url}: {error}; check user, password and rights")
        if isinstance(error, exceptions.ConnectionError | exceptions.TimeoutError):
            return tls_error(error, url) or ConnectionError(f"{url}: cannot be reached: {error}")
        code = getattr(error, "status_code", None)  # the library removes the codes that it knows from the text
        if f"{code or error} ".startswith(_PASSING):  # the stream or the group was removed: the next check reports that
            return ConnectionError(f"{url}: {error}")
        return RefusedError(f"{url}, stream {stream}: {error}")

    async def _read(self, intake: Intake, client: Any) -> None:
        settings: RedisSourceParameters = self.parameters
        place = BrokerPosition(intake, settings.stream, settings.group, settings.on_lost_data)
        await self._make_group(client, place)
        intake.receiving(f"{settings.url}, stream {settings.stream}, group {place.name}")
        position = "0"  # first the messages that were delivered and not acknowledged
        while True:
            answer = await client.xreadgroup(
                place.name, CONSUMER, {settings.stream: position}, count=MAX_READ_ENTRIES, block=BLOCK_MILLISECONDS
            )
            entries = _entries(answer)
            if not entries:
                position = ">"
                continue
            deliveries = [
                # an entry removed meanwhile has no fields; it counts as empty, like one without the field
                Delivery((fields or {}).get(settings.field.encode(), b""), settings.stream, place.key(id))
                for id, fields in entries
            ]
            await take(intake, deliveries, settings.max_message_bytes)
            await client.xack(settings.stream, place.name, *(id for id, _ in entries))

    async def _make_group(self, client: Any, place: BrokerPosition) -> None:
        """Create the group and the stream unless they exist, and record the position.

        Redis stores the group in the stream, so deleting the stream deletes the group.
        """
        from redis.exceptions import ResponseError

        settings: RedisSourceParameters = self.parameters
        about = f"{settings.url}, stream {settings.stream}, group {place.name}"
        start = "0" if settings.start_at == "earliest" or place.is_known else "$"
        if place.is_known and not await self._has_group(client, place.name):
            place.enter("", kept=False, about=about)
        try:
            await client.xgroup_create(settings.stream, place.name, id=start, mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
        place.enter("", kept=True, about=about)

    async def _has_group(self, client: Any, name: str) -> bool:
        """Return True if the stream has the group, or the user may not ask; False also if there is no stream."""
        from redis.exceptions import NoPermissionError, ResponseError

        try:
            groups = await client.xinfo_groups(self.parameters.stream)
        except NoPermissionError:
            return True
        except ResponseError as error:
            if "no such key" not in str(error):
                raise
            return False
        return any(group["name"] == name.encode() for group in groups)


def _entries(answer: Any) -> list[tuple[str, dict[bytes, bytes] | None]]:
    """Return the entries' ids and fields. The response is a list or a mapping, depending on the protocol version."""
    streams = list(answer.values()) if isinstance(answer, dict) else [each[1] for each in answer or ()]
    decoded: list[tuple[str, dict[bytes, bytes] | None]] = []
    for entries in streams:
        while isinstance(entries, list) and len(entries) == 1 and isinstance(entries[0], list):
            entries = entries[0]  # noqa: PLW2901
        decoded += [(id.decode(), fields) for id, fields in entries]
    return decoded
