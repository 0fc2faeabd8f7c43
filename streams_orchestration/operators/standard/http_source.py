"""HttpSource: bodies of requests, from a journal."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING

from pydantic import Field, field_validator, model_validator

from streams_orchestration.operators.contract import OperatorContext
from streams_orchestration.operators.errors import RefusedError
from streams_orchestration.operators.http.bodies import BodyError, messages_of
from streams_orchestration.operators.http.client import check_token
from streams_orchestration.operators.http.endpoint import Endpoint, application
from streams_orchestration.operators.journal.intake import Intake
from streams_orchestration.operators.journal.listening import Listening, shown_peer
from streams_orchestration.operators.journal.source import JournalParameters, JournalSource, decoded_schema
from streams_orchestration.operators.packages import require_package
from streams_orchestration.operators.references import ReferenceError, resolved

if TYPE_CHECKING:
    import uvicorn

END_SECONDS = 2
"""How long requests under way may take when it ends."""


class HttpSourceParameters(JournalParameters):
    """Parameters of `HttpSource`."""

    address: str = Field(default="127.0.0.1", min_length=1, description="to listen at")
    port: int = Field(ge=0, le=65535, description="0: a free one, which the host's log names")
    path: str = Field(default="/", pattern=r"^/[^{}?#\s]*$", description="that requests are posted to")
    token: str | None = Field(default=None, repr=False, description="a bearer token, as ${env:NAME} or ${file:PATH}")
    certificate: str | None = Field(default=None, description="file with the certificate, for https")
    private_key: str | None = Field(default=None, alias="privateKey", description="file with the key of it")
    max_body_bytes: int = Field(default=16 << 20, alias="maxBodyBytes", ge=1, description="of one request")
    connections: int = Field(default=100, ge=1, description="most at a time")

    @field_validator("token")
    @classmethod
    def _check_token(cls, token: str | None) -> str | None:
        return check_token(token)

    @model_validator(mode="after")
    def _go_together(self) -> HttpSourceParameters:
        if 8 * self.max_body_bytes > self.journal_limit:
            message = "journalLimit is less than eight bodies of maxBodyBytes take"
            raise ValueError(message)
        if (self.certificate is None) != (self.private_key is None):
            message = "certificate and privateKey go together"
            raise ValueError(message)
        return self


class HttpSource(JournalSource):
    """Each request is answered 202 when all messages of its body are in the journal, and none of them is otherwise.

    Who got no answer posts again. With an `Idempotency-Key` that is known the answer is 202, and nothing is written:
    the last 10,000 keys are remembered with the journal.
    """

    Parameters = HttpSourceParameters

    @classmethod
    def check(cls, context: OperatorContext, parameters: JournalParameters) -> None:
        """Raises ValueError when attributes and messages do not go together, or libraries are missing."""
        super().check(context, parameters)
        for package in ("starlette", "uvicorn"):
            require_package("HttpSource", package, "http")

    @classmethod
    def destination(cls, context: OperatorContext, parameters: HttpSourceParameters) -> str:
        """The address."""
        scheme = "http" if parameters.certificate is None else "https"
        return f"{scheme}://{parameters.address}:{parameters.port}{parameters.path}"

    async def receive(self, intake: Intake) -> None:
        """Listen, and answer requests."""
        settings: HttpSourceParameters = self.parameters
        listening: Listening = self.__dict__.setdefault("_listening", Listening(settings.address, settings.port))
        server = self._server(intake)
        try:
            sockets = [_bound(settings.address, settings.port)]
        except OSError as error:
            raise listening.explain(error) from None
        listening.begun()
        scheme = "http" if settings.certificate is None else "https"
        serving = asyncio.create_task(server.serve(sockets))
        try:
            intake.receiving(f"{scheme}://{shown_peer(sockets[0].getsockname())}{settings.path}")
            await asyncio.shield(serving)
        finally:
            server.should_exit = True
            await asyncio.gather(serving, return_exceptions=True)
            for each in sockets:
                each.close()

    def _server(self, intake: Intake) -> uvicorn.Server:
        import uvicorn

        settings: HttpSourceParameters = self.parameters
        try:
            token = None if settings.token is None else resolved(settings.token, "token")
        except ReferenceError as error:
            raise RefusedError(str(error)) from None
        endpoint = Endpoint(intake, token, settings.max_body_bytes, self._messages, shown_peer)
        config = uvicorn.Config(
            application(settings.path, endpoint.answer), log_config=None, access_log=False, lifespan="off", ws="none",
            limit_concurrency=settings.connections, timeout_graceful_shutdown=END_SECONDS, server_header=False,
            ssl_certfile=settings.certificate, ssl_keyfile=settings.private_key,
        )  # fmt: skip
        try:
            config.load()
        except (OSError, ssl.SSLError) as error:
            message = (
                f"certificate {settings.certificate}, privateKey {settings.private_key}: {error.strerror or error}"
            )
            raise RefusedError(message) from None
        return uvicorn.Server(config)

    def _messages(self, body: bytes, kind: str) -> list[bytes]:
        settings: HttpSourceParameters = self.parameters
        schema = self.context.outputs[0]
        assert schema is not None
        names = decoded_schema(schema, settings).names
        messages = messages_of(body, kind, settings.format, names, settings.separator)
        if any(len(message) > settings.max_message_bytes for message in messages):
            raise BodyError(413, f"a message in the body has more than {settings.max_message_bytes} bytes")
        return messages


def _bound(address: str, port: int) -> socket.socket:
    """A socket that is bound, and listens when it is served."""
    family, kind, protocol, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(place)
        bound.listen(128)
        bound.settimeout(0)
    except OSError:
        bound.close()
        raise
    return bound
