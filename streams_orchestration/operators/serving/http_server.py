"""`HttpServer`: an HTTP server with limits for the size and the duration of requests and answers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from streams_orchestration.operators.serving.listener import BACKLOG, Activity, ClientConnection, Listener, Places

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEAD_BYTES = 64 << 10
"""The largest head of a request in bytes."""
HEAD_TIMEOUT_SECONDS = 20.0
"""Seconds within which a peer must send the head of a request, counted from the end of the last response."""
SLOWEST = 16 << 10
"""The least rate in bytes per second for bodies and responses, after a grace of `HEAD_TIMEOUT_SECONDS`."""
TIMEOUT_CHECK_SECONDS = 1.0
"""Seconds between checks for peers that have exceeded their time."""


class HttpServer(uvicorn.Server):
    """A server of an ASGI application on a `Listener`.

    The head of a request has at most `HEAD_BYTES`. A peer is disconnected if it does not send its request, or receive
    its response, in time.

    Args:
        app: the ASGI application.
        listener: the listener, which the server closes.
        end_seconds: seconds that running requests may take when the server shuts down.
        options: further arguments of `uvicorn.Config`.
    """

    def __init__(self, app: ASGIApp, listener: Listener, end_seconds: int, **options: Any) -> None:
        self.listener = listener
        settings: dict[str, Any] = {"log_level": "error", "lifespan": "off", "ws": "none"} | options
        config = uvicorn.Config(
            app,
            http=_protocol_of(listener.places),
            loop="asyncio",
            h11_max_incomplete_event_size=HEAD_BYTES,
            backlog=BACKLOG,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=end_seconds,
            **settings,
        )
        super().__init__(config)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve the listener, whatever the `sockets`, until shutdown, and then close it."""
        cutting = asyncio.create_task(self._cut_waiting())
        try:
            await super().serve([self.listener])
        finally:
            cutting.cancel()
            self.listener.close()

    async def _cut_waiting(self) -> None:
        while True:
            await asyncio.sleep(TIMEOUT_CHECK_SECONDS)
            self.listener.places.cut_waiting(HEAD_TIMEOUT_SECONDS)


def _protocol_of(places: Places) -> type[H11Protocol]:
    """Return a protocol class that records the activity of each connection, and explains responses of status 400."""

    class Protocol(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._held = places.of(transport)
            self.app = _Noted(self.app, self._held, self.flow)

        def handle_websocket_upgrade(self, event: Any) -> None:
            self._held.note(Activity.STREAMING)
            super().handle_websocket_upgrade(event)

        def send_400_response(self, msg: str) -> None:
            super().send_400_response(f"This is not an HTTP request, or its head has more than {HEAD_BYTES} bytes.")

    return Protocol


class _Noted:
    """A wrapper of an ASGI application that records each request's activity in its connection.

    It cuts the connection of a peer that takes too long to receive its response.
    """

    def __init__(self, app: Any, connection: ClientConnection, flow: FlowControl) -> None:
        self._app = app
        self._connection = connection
        self._flow = flow
        self._latest: object = None
        """Identifies the last request. A new one may arrive while another ends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = self._connection
        mine = self._latest = object()
        if not _has_body(scope["headers"]):
            connection.note(Activity.WORKING)

        async def received() -> Message:
            message = await receive()
            if connection.activity is Activity.WAITING:
                connection.since += len(message.get("body", b"")) / SLOWEST
                if not message.get("more_body", False):
                    connection.note(Activity.WORKING)
            return message

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_stream(message.get("headers", ())):
                connection.note(Activity.STREAMING)
            try:
                async with asyncio.timeout(HEAD_TIMEOUT_SECONDS + len(message.get("body", b"")) / SLOWEST):
                    await send(message)
                    await self._flow.drain()
            except TimeoutError:
                connection.cut()

        try:
            await self._app(scope, received, sent)
        finally:
            if self._latest is mine:
                connection.note(Activity.WAITING)


def _has_body(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name == b"transfer-encoding" or (name == b"content-length" and value != b"0") for name, value in headers)


def _is_stream(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name.lower() == b"content-type" and value.startswith(b"text/event-stream") for name, value in headers)
