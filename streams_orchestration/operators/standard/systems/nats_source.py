"""NATSSource: reads messages of a NATS JetStream stream with a durable consumer, by way of a journal."""

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
from streams_orchestration.operators.errors.external_errors import status_passes
from streams_orchestration.operators.journal.intake import Intake
from streams_orchestration.operators.journal.source import JournalSource
from streams_orchestration.operators.references import Secret

MAX_FETCHED_MESSAGES = 500
MOST_UNACKNOWLEDGED = 1000
"""The largest number of unacknowledged messages. It is far below the number of remembered keys, since these may repeat.
"""
FETCH_SECONDS = 2.0
ACKNOWLEDGE_SECONDS = 30.0
"""Seconds after which the server delivers an unacknowledged message again."""


class NatsSourceParameters(BrokerParameters):
    """The parameters of `NATSSource`."""

    schemes: ClassVar[dict[str, int]] = {"nats": 4222, "tls": 4222}
    stream: str = Field(min_length=1, description="Name of the JetStream stream.")
    subject: str | None = Field(default=None, description="Subject filter. Default: all subjects of the stream.")
    consumer: str | None = Field(
        default=None,
        pattern=r"^[^\s.*>]+$",
        description="Durable consumer, created if it is missing. Default: one for this operator.",
    )
    token: Secret = Field(default=None, description="Token of the user, as ${env:NAME} or ${file:PATH}.")
    start_at: Literal["earliest", "latest"] = Field(
        default="earliest", alias="startAt", description="Position at which a new consumer begins."
    )


class NATSSource(JournalSource):
    """Acknowledges a message once it is in the journal. A repeated message is recognised by its number."""

    Parameters = NatsSourceParameters
    origin = "subject"
    package = ("nats", "nats", "nats-py")
    loaded_modules = ("nats", "nats.js", "nats.js.api", "nats.js.errors")

    @classmethod
    def destination(cls, context: OperatorContext, parameters: NatsSourceParameters) -> str:
        """Return the stream and server."""
        return f"{parameters.stream} at {parameters.url}"

    async def receive(self, intake: Intake) -> None:
        """Fetch messages through the durable consumer, which is created if it is missing, until cancelled."""
        import nats
        from nats import errors
        from nats.js import errors as js_errors

        settings: NatsSourceParameters = self.parameters
        heard: list[Exception] = []

        async def hear(error: Exception) -> None:
            heard.append(error)

        options: dict[str, Any] = {
            "user": settings.secret("user"),
            "password": settings.secret("password"),
            "token": settings.secret("token"),
            "allow_reconnect": False,
            "connect_timeout": CONNECT_SECONDS,
            "max_reconnect_attempts": 1,
            "reconnect_time_wait": 0.1,
            "error_cb": hear,
        }
        client: Any = None
        try:
            connecting = nats.connect(
                settings.url, **{name: value for name, value in options.items() if value is not None}
            )
            client = await asyncio.wait_for(connecting, CONNECT_SECONDS)
            await self._fetch(intake, client)
        except (errors.Error, js_errors.Error, OSError) as error:
            raise self.explained(error, heard) from None
        finally:
            if client is not None:
                with contextlib.suppress(errors.Error, OSError):
                    await asyncio.wait_for(client.close(), CLOSE_SECONDS)

    def explained(self, error: Exception, heard: list[Exception]) -> Exception:
        """Translate an error of the library: a RefusedError if a retry cannot help, else a ConnectionError."""
        from nats.js import errors

        url, stream = self.parameters.url, self.parameters.stream
        if isinstance(error, errors.NotFoundError):
            return RefusedError(f"{url}: the stream {stream} does not exist; create it, or name another one")
        if isinstance(error, errors.APIError) and not status_passes(error.code or 400):
            return RefusedError(f"{url}, stream {stream}: {error.description}")
        if (tls := tls_error(error, url)) is not None:
            return tls
        texts = " ".join(str(each) for each in (error, *heard))
        if "uthorization" in texts or "ermissions" in texts:
            return RefusedError(f"{url}: the server refuses these credentials; check user, password and token")
        return ConnectionError(f"{url}: cannot be reached: {str(error) or type(error).__name__}")

    async def _fetch(self, intake: Intake, client: Any) -> None:
        from nats import errors
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

        settings: NatsSourceParameters = self.parameters
        start = DeliverPolicy.ALL if settings.start_at == "earliest" else DeliverPolicy.NEW
        config = ConsumerConfig(
            deliver_policy=start,
            ack_policy=AckPolicy.EXPLICIT,
            max_ack_pending=MOST_UNACKNOWLEDGED,
            ack_wait=ACKNOWLEDGE_SECONDS,
        )
        context = client.jetstream(timeout=CONNECT_SECONDS)
        created = str((await context.stream_info(settings.stream)).created)
        place = BrokerPosition(intake, settings.stream, settings.consumer, settings.on_lost_data)
        about = f"{settings.url}, stream {settings.stream}, consumer {place.name}"
        if place.is_known:
            # a consumer that is made once more reads all messages that the stream still has
            config.deliver_policy = DeliverPolicy.ALL
            place.enter(created, kept=await _has_consumer(context, settings.stream, place.name), about=about)
        subscription = await context.pull_subscribe(
            settings.subject or "", durable=place.name, stream=settings.stream, config=config
        )
        place.enter(created, kept=True, about=about)
        intake.receiving(about)
        while True:
            try:
                messages = await subscription.fetch(MAX_FETCHED_MESSAGES, FETCH_SECONDS)
            except (errors.TimeoutError, TimeoutError):
                if not client.is_connected:
                    message = f"{settings.url}: the connection was closed"
                    raise ConnectionError(message) from None
                continue
            deliveries = [
                Delivery(each.data, each.subject, place.key(each.metadata.sequence.stream)) for each in messages
            ]
            await take(intake, deliveries, settings.max_message_bytes)
            await asyncio.gather(*(each.ack() for each in messages))


async def _has_consumer(context: Any, stream: str, name: str) -> bool:
    from nats.js.errors import NotFoundError

    try:
        await context.consumer_info(stream, name)
    except NotFoundError:
        return False
    return True
