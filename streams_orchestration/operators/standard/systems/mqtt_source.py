"""MQTTSource: reads messages of an MQTT broker's topics, by way of a journal."""

from __future__ import annotations

import asyncio
import re
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field, field_validator

from streams_orchestration.operators.brokers.address import (
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

MAX_UNWRITTEN_MESSAGES = 10_000
"""The largest number of unwritten messages of quality of service 0. For 1 the broker's own limit applies."""
KEEP_ALIVE_SECONDS = 30
LONGEST_TOPIC = 65535
"""The longest topic filter in bytes."""
_FILTER = re.compile(r"(([^/+#\0]*|\+)/)*([^/+#\0]+|\+|#|(?<=/))")
_REFUSALS = {
    133: "check clientId",
    134: "check user, password",
    135: "check user, password",
}
"""Maps reason codes of a permanent refusal to their remedies."""


class MqttSourceParameters(BrokerParameters):
    """The parameters of `MQTTSource`."""

    schemes: ClassVar[dict[str, int]] = {"mqtt": 1883, "mqtts": 8883}
    topics: list[str] = Field(min_length=1, description="Topic filters such as sensors/+/temperature or sensors/#.")
    qos: Literal[0, 1] = Field(
        default=1, description="1: acknowledge a message once it is in the journal. 0: never acknowledge."
    )
    client_id: str | None = Field(
        default=None, alias="clientId", description="Client id by which the broker keeps messages while no host runs."
    )

    @field_validator("topics")
    @classmethod
    def _check_topics(cls, topics: list[str]) -> list[str]:
        for topic in topics:
            if not _FILTER.fullmatch(topic) or len(topic.encode()) > LONGEST_TOPIC:
                message = f"{topic!r} is not a topic filter: + must be a whole level, # the last one"
                raise ValueError(message)
        return topics


class _Connected(NamedTuple):
    """The event that the broker has accepted the connection."""

    session_is_kept: bool


class _Session(BrokerPosition):
    """The session in which the broker keeps messages while the client is disconnected."""

    lost = (
        "the broker has lost the session, as after a restart without persistence; messages that waited in the session, "
        "and messages published since then, are lost"
    )
    goes_on = "continues with new messages"
    counted = "session lost"


class MQTTSource(JournalSource):
    """Acknowledges a message to the broker once it is in the journal.

    The session is persistent, so the broker keeps messages while no host runs. If an acknowledgement is lost, the
    message is delivered again, and MQTT has no key to recognise it. So delivery from broker to journal is at least
    once.
    """

    Parameters = MqttSourceParameters
    origin = "topic"
    package = ("paho", "mqtt", "paho-mqtt")
    loaded_modules = ("paho.mqtt.client",)

    @classmethod
    def destination(cls, context: OperatorContext, parameters: MqttSourceParameters) -> str:
        """Return the topics and broker."""
        return f"{', '.join(parameters.topics)} at {parameters.url}"

    async def receive(self, intake: Intake) -> None:
        """Connect, subscribe, and receive messages until cancelled."""
        settings: MqttSourceParameters = self.parameters
        arrived: asyncio.Queue[Any] = asyncio.Queue()
        name = settings.client_id or f"streams-{intake.journal.files.id}"
        session = _Session(intake, settings.url, name, settings.on_lost_data)
        client = self._client(intake, asyncio.get_running_loop(), arrived, name)
        host, port = settings.host_and_port
        try:
            try:
                await asyncio.to_thread(client.connect, host, port, KEEP_ALIVE_SECONDS)
            except OSError as error:
                away = ConnectionError(f"{settings.url}: cannot be reached: {error.strerror or error}")
                raise (tls_error(error, settings.url) or away) from None
            client.loop_start()
            await self._take(intake, client, arrived, session)
        finally:
            client.disconnect()
            await asyncio.to_thread(client.loop_stop)

    async def _take(self, intake: Intake, client: Any, arrived: asyncio.Queue[Any], session: _Session) -> None:
        settings: MqttSourceParameters = self.parameters
        while True:
            events = [await arrived.get()]
            while not arrived.empty():
                events.append(arrived.get_nowait())
            for event in events:
                if isinstance(event, _Connected):
                    self._enter(session, kept=event.session_is_kept)
                    client.subscribe([(topic, settings.qos) for topic in settings.topics])
            if "subscribed" in events:
                intake.receiving(f"{settings.url}, topics {', '.join(settings.topics)}")
            messages = [event for event in events if not isinstance(event, str | Exception | _Connected)]
            deliveries = [Delivery(message.payload, message.topic) for message in messages]
            await take(intake, deliveries, settings.max_message_bytes)
            for message in messages:
                client.ack(message.mid, message.qos)
            for event in events:
                if isinstance(event, Exception):
                    raise event

    def _enter(self, session: _Session, *, kept: bool) -> None:
        """Record the session, and check that the broker kept it if it may hold messages."""
        settings: MqttSourceParameters = self.parameters
        if session.is_known and not kept and settings.qos > 0:
            session.lose()  # the next connection finds the session that this one has made
        session.enter("", kept=True, about=f"{settings.url}, session {session.name}")

    def _client(self, intake: Intake, loop: asyncio.AbstractEventLoop, arrived: asyncio.Queue[Any], name: str) -> Any:
        """Return a client whose thread puts events into the queue.

        A message of quality of service 0 is dropped and counted as lost while more than `MAX_UNWRITTEN_MESSAGES`
        events wait.
        """
        from paho.mqtt.client import Client, MQTTv311
        from paho.mqtt.enums import CallbackAPIVersion

        settings: MqttSourceParameters = self.parameters
        client: Any = Client(
            CallbackAPIVersion.VERSION2,
            name,
            clean_session=False,
            protocol=MQTTv311,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        client.connect_timeout = CONNECT_SECONDS
        if settings.user is not None:
            client.username_pw_set(settings.secret("user"), settings.secret("password"))
        if settings.url.startswith("mqtts:"):
            client.tls_set()

        def say(event: Any) -> None:
            loop.call_soon_threadsafe(arrived.put_nowait, event)

        def connected(_client: Any, _data: Any, flags: Any, reason: Any, _properties: Any) -> None:
            text = f"{settings.url}: {reason}"
            if not reason.is_failure:
                say(_Connected(flags.session_present))
            elif reason.value in _REFUSALS:
                say(RefusedError(f"{text}; {_REFUSALS[reason.value]}"))
            else:
                say(ConnectionError(text))

        def subscribed(_client: Any, _data: Any, _mid: int, reasons: Any, _properties: Any) -> None:
            refused = [topic for topic, reason in zip(settings.topics, reasons, strict=False) if reason.is_failure]
            message = f"{settings.url}: the broker refuses a subscription to {', '.join(refused)}; check the rights"
            say(RefusedError(message) if refused else "subscribed")

        def received(_client: Any, _data: Any, message: Any) -> None:
            if message.qos == 0 and arrived.qsize() > MAX_UNWRITTEN_MESSAGES:
                loop.call_soon_threadsafe(
                    intake.count,
                    "lost",
                    "a message of %s was left out: too many messages wait to be written",
                    message.topic,
                )
                return
            say(message)

        serve = client.loop_forever

        def serve_and_say(**options: Any) -> Any:
            try:
                return serve(**options)
            except Exception as error:  # noqa: BLE001  else its thread would be gone, and nothing would arrive
                say(ConnectionError(f"{settings.url}: the client failed: {error!r}"))

        client.loop_forever = serve_and_say
        client.on_connect = connected
        client.on_subscribe = subscribed
        client.on_message = received
        client.on_disconnect = lambda *_: say(ConnectionError(f"{settings.url}: the connection was closed"))
        return client
