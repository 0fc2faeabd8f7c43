"""Serves the console until Ctrl-C or SIGTERM, which ends open pages at once."""

from __future__ import annotations

import secrets
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from streams_orchestration.compiler.options import Options
from streams_orchestration.console.access import SHORTEST_TOKEN, Access, is_loopback
from streams_orchestration.console.plans.compilers import Compilers
from streams_orchestration.console.reader import Reader
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.storage.home import Home

STOP_SECONDS = 2
"""Seconds that requests may take to end."""


class ConsoleError(StreamsRuntimeError):
    """The console cannot be served."""


def serve(
    home: Home,
    access: Access,
    application: str | None,
    ready: Callable[[str], None],
    specs: tuple[Path, ...] = (),
    options: Options | None = None,
) -> int:
    """Serve until Ctrl-C or SIGTERM.

    Args:
        home: state directory.
        access: where, and who is let in.
        application: the only one that is shown; None for all.
        ready: called with the address to open once connections are taken.
        specs: that pages may have compiled.
        options: to compile them with; None for those of what is deployed, or the defaults.

    Returns:
        The exit status, 0.

    Raises:
        ConsoleError: the address cannot be used, or the token is too short.
    """
    import uvicorn

    from streams_orchestration.console.app import create_app

    _require_token(access)
    reader, compilers = Reader(home, application), Compilers(home, specs, options)
    listening = _listen(access.host, access.port)
    config = uvicorn.Config(
        create_app(reader, access, compilers), log_level="error", access_log=False, server_header=False, ws="none",
        timeout_graceful_shutdown=STOP_SECONDS, lifespan="on",
    )  # fmt: skip

    class Server(uvicorn.Server):
        """Ends what pages are sent as soon as it is to stop: it would wait for them."""

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            super().handle_exit(sig, frame)
            reader.close()

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        ready(address(access, "compile" if specs else ""))
        Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
        listening.close()
    return 0


def address(access: Access, page: str = "") -> str:
    """Return the address to open: the token is in the fragment, which a browser sends to nobody."""
    host = "127.0.0.1" if access.host in ("0.0.0.0", "::") else access.host  # noqa: S104  it is compared only
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{access.port}/{page}" + (f"#token={access.token}" if access.token is not None else "")


def access_to(host: str, port: int, token: str | None, *, allow_actions: bool = False) -> Access:
    """Return the access at an address: without a token everybody on loopback; elsewhere a token is made."""
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(32)
    return Access(host, port, token, allow_actions)


def _require_token(access: Access) -> None:
    if access.token is not None and len(access.token) < SHORTEST_TOKEN:
        message = f"the token is shorter than {SHORTEST_TOKEN} characters. Take a longer one, or leave it out."
        raise ConsoleError(message)


def _listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections, so that a page that is opened at once finds it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        message = f"port {port} on {host} cannot be used: {error.strerror}. Stop what listens there or use --port."
        raise ConsoleError(message) from error
    return listening
