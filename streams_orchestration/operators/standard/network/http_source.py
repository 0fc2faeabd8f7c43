"""HttpSource: receives HTTP requests, by way of a journal."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.errors import RefusedError
from streams_orchestration.operators.journal.intake import Intake
from streams_orchestration.operators.journal.listening import Listening, shown_peer
from streams_orchestration.operators.journal.source import JournalParameters, JournalSource
from streams_orchestration.operators.loading.packages import require_package
from streams_orchestration.operators.messages.decoders import decoded_schema
from streams_orchestration.operators.references import Secret, resolved
from streams_orchestration.operators.serving.bodies import BodyError, messages_of
from streams_orchestration.operators.serving.endpoint import Endpoint, application
from streams_orchestration.operators.serving.listener import Listener, Places, listen

if TYPE_CHECKING:
    from streams_orchestration.operators.serving.http_server import HttpServer

SHUTDOWN_SECONDS = 2
"""Seconds that open requests may take when the source ends."""


class HttpSourceParameters(JournalParameters):
    """The parameters of `HttpSource`."""

    address: str = Field(default="127.0.0.1", min_length=1, description="Address to listen at.")
    port: int = Field(ge=0, le=65535, description="Port to listen at. 0: any free port, which the host's log names.")
    path: str = Field(default="/", pattern=r"^/[^{}?#\s]*$", description="Path that requests are posted to.")
    token: Secret = Field(
        default=None, description="Bearer token that requests must have, as ${env:NAME} or ${file:PATH}."
    )
    certificate: str | None = Field(default=None, description="File with the certificate for https.")
    private_key: str | None = Field(
        default=None, alias="privateKey", description="File with the private key of the certificate."
    )
    max_body_bytes: int = Field(
        default=16 << 20, alias="maxBodyBytes", ge=1, description="Largest size of a request body in bytes."
    )
    connections: int = Field(
        default=100, ge=1, description="Largest number of open connections. Idle connections yield to new ones."
    )
    connections_per_address: int | None = Field(
        default=None,
        alias="connectionsPerAddress",
        ge=1,
        description=("Largest number of open connections from one address."),
    )

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        if 8 * self.max_body_bytes > self.journal_limit:
            yield "journalLimit is less than eight bodies of maxBodyBytes; raise it, or lower maxBodyBytes"
        if (self.certificate is None) != (self.private_key is None):
            yield "certificate and privateKey require each other; give both or neither"


class HttpSource(JournalSource):
    """Receives messages by HTTP. A request is answered with 202 once all messages of its body are in the journal.

    With any other status none of the messages is in the journal. A client without a response should repeat its request.
    If its `Idempotency-Key` is known, the status is 202 and nothing is written, or 409 if the body differs. The journal
    remembers the last 10,000 keys.
    """

    Parameters = HttpSourceParameters
    loaded_modules = (
        "streams_orchestration.operators.serving.http_server",
        "starlette.applications",
        "starlette.responses",
        "uvicorn.protocols.http.auto",
        "uvicorn.lifespan.on",
        "uvicorn.lifespan.off",
    )

    @classmethod
    def check(cls, context: OperatorContext, parameters: JournalParameters) -> None:
        """Raise ValueError if attributes, format, ports or region do not fit, or a library is missing."""
        super().check(context, parameters)
        for package in ("starlette", "uvicorn"):
            require_package("HttpSource", package, "http")

    @classmethod
    def destination(cls, context: OperatorContext, parameters: HttpSourceParameters) -> str:
        """Return the URL at which the source listens, with the port of the parameters, also if that is 0."""
        scheme = "http" if parameters.certificate is None else "https"
        return f"{scheme}://{parameters.address}:{parameters.port}{parameters.path}"

    async def receive(self, intake: Intake) -> None:
        """Listen and answer requests until cancelled."""
        settings: HttpSourceParameters = self.parameters
        listening: Listening = self.__dict__.setdefault("_listening", Listening(settings.address, settings.port))
        try:
            listener = self._listener(intake)
        except OSError as error:
            raise listening.explain(error) from None
        with closing(listener):
            server = self._server(intake, listener)
            listening.begun()
            scheme = "http" if settings.certificate is None else "https"
            place = f"{scheme}://{shown_peer(listener.getsockname())}{settings.path}"
            serving = asyncio.create_task(server.serve())
            try:
                intake.receiving(place)
                await asyncio.shield(serving)
            finally:
                server.should_exit = True
                await asyncio.gather(serving, return_exceptions=True)

    def _listener(self, intake: Intake) -> Listener:
        settings: HttpSourceParameters = self.parameters
        each = settings.connections_per_address

        def refused(peer: object) -> None:
            intake.count("refused", "a connection from %s was closed: too many connections are open", shown_peer(peer))

        return listen(settings.address, settings.port, Places(settings.connections, each, refused=refused))

    def _server(self, intake: Intake, listener: Listener) -> HttpServer:
        from streams_orchestration.operators.serving.http_server import HttpServer

        settings: HttpSourceParameters = self.parameters
        token = None if settings.token is None else resolved(settings.token, "token")
        endpoint = Endpoint(intake, token, settings.max_body_bytes, self._messages, shown_peer)
        server = HttpServer(
            application(settings.path, endpoint.answer),
            listener,
            SHUTDOWN_SECONDS,
            ssl_certfile=settings.certificate,
            ssl_keyfile=settings.private_key,
        )
        try:
            server.config.load()
        except (OSError, ssl.SSLError) as error:
            message = (
                f"certificate {settings.certificate}, privateKey {settings.private_key}: {error.strerror or error}"
            )
            raise RefusedError(message) from None
        return server

    def _messages(self, body: bytes, kind: str) -> list[bytes]:
        settings: HttpSourceParameters = self.parameters
        schema = self.context.output_schema()
        names = decoded_schema(schema, settings.metadata).names
        messages = messages_of(body, kind, settings.format, names, settings.separator)
        if any(len(message) > settings.max_message_bytes for message in messages):
            raise BodyError(413, f"a message in the body has more than {settings.max_message_bytes} bytes")
        return messages
