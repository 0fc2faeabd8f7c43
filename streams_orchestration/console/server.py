"""The server of the console, which Ctrl-C or SIGTERM ends without waiting for open pages."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from streams_orchestration.compiler.options import Options
from streams_orchestration.console.access import SHORTEST_TOKEN, Access
from streams_orchestration.console.plans.compilers import Compilers
from streams_orchestration.console.reader import SnapshotReader
from streams_orchestration.operators.serving.listener import Listener, Places, listen
from streams_orchestration.operators.serving.own_pages import is_loopback
from streams_orchestration.runtime import api

MAX_CLIENT_CONNECTIONS = 128
"""The most connections at a time; an open page has one to six.

If all connections are taken, the oldest page loses its connection.
"""
SHUTDOWN_SECONDS = 2
"""Seconds for which the server waits for requests under way before it ends."""


class ConsoleError(api.StreamsRuntimeError):
    """The console cannot begin to serve pages."""


def serve(
    home: api.Home,
    access: Access,
    application: str | None,
    ready: Callable[[str], None],
    specs: tuple[Path, ...] = (),
    options: Options | None = None,
) -> int:
    """Serve the console until Ctrl-C or SIGTERM, whose handlers are replaced meanwhile.

    Args:
        home: the state directory.
        access: the address to listen on, and the rule who may use the console.
        application: the only application to show; None for all.
        ready: a function that is called with the address to open as soon as the console accepts connections.
        specs: the specs that pages may have compiled.
        options: the compiler's options for the specs; None for the options of the deployed application, or the
            defaults.

    Returns:
        The exit status, 0.

    Raises:
        ConsoleError: the address cannot be used, or the token is too short.
    """
    from streams_orchestration.console.app import create_app
    from streams_orchestration.operators.serving.http_server import HttpServer

    class Server(HttpServer):
        """A server that ends the events of pages when it is asked to stop, since it would wait for them otherwise."""

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            super().handle_exit(sig, frame)
            reader.close()

    _require_token(access)
    reader = SnapshotReader(home, application)
    compilers = Compilers(home, specs, options)
    listener = _listen(access.host, access.port)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        ready(address(access, "compile" if specs else ""))
        Server(create_app(reader, access, compilers), listener, SHUTDOWN_SECONDS, lifespan="on").run()
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
        listener.close()
    return 0


def address(access: Access, page: str = "") -> str:
    """Return the address to open, with the token in the fragment, which a browser never sends to a server.

    A host that means all addresses becomes 127.0.0.1.
    """
    host = "127.0.0.1" if access.host in ("0.0.0.0", "::") else access.host  # noqa: S104  the address is only compared
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{access.port}/{page}" + (f"#token={access.token}" if access.token is not None else "")


def access_to(host: str, port: int, token: str | None, *, allow_actions: bool = False) -> Access:
    """Return the access to a console at this address; away from loopback a missing token is generated."""
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(32)
    return Access(host, port, token, allow_actions)


def _require_token(access: Access) -> None:
    if access.token is not None and len(access.token) < SHORTEST_TOKEN:
        message = f"the token is shorter than {SHORTEST_TOKEN} characters. Use a longer one, or leave it out."
        raise ConsoleError(message)


def _listen(host: str, port: int) -> Listener:
    """Return a socket that accepts connections already, so that a page that is opened at once can connect."""
    try:
        return listen(host, port, Places(MAX_CLIENT_CONNECTIONS))
    except OSError as error:
        message = f"port {port} on {host} cannot be used: {error.strerror}. Stop what listens there or use --port."
        raise ConsoleError(message) from error
