"""`streams metrics`: write, serve or send the metrics of all applications, for Prometheus and OpenTelemetry."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack

import click

from streams_orchestration.cli.extras import require
from streams_orchestration.cli.interrupts import BackgroundCall, Interrupts
from streams_orchestration.cli.invocation import write_output
from streams_orchestration.cli.messages import note
from streams_orchestration.cli.output import log_to_standard_error
from streams_orchestration.operators.serving.listener import Places, listen
from streams_orchestration.runtime import api

MAX_CLIENT_CONNECTIONS = 32
"""The most connections of scrapers at a time."""
SHUTDOWN_SECONDS = 2
"""Seconds for which the server waits for a scrape under way before it ends."""
SERVING_PAUSE_SECONDS = 3600.0
"""Seconds of one pause of the main loop if metrics are served but not sent; a signal ends the pause."""


def metrics(serve: tuple[str, int] | None, *, otlp: bool) -> int:
    """Write the metrics of all applications, or serve or send them until an interrupt; return the exit status, 0.

    Raises:
        UsageError: the address cannot be listened on, or the variable with the interval has no usable value.
        StreamsRuntimeError: the package for sending is not installed.
    """
    home = api.Home.default()
    if serve is None and not otlp:
        write_output(api.read_metrics_text(home)[0].decode(), None)
        return 0
    log_to_standard_error(logging.WARNING, "%(asctime)s %(levelname)s %(message)s")
    with ExitStack() as stack:
        send, seconds = _open_and_announce_sender(home, stack) if otlp else (lambda: None, SERVING_PAUSE_SECONDS)
        has_ended = serve_metrics(home, *serve, stack) if serve is not None else lambda: False
        with Interrupts(lambda: None) as interrupts:
            while not interrupts.requested and not has_ended():
                send()
                interrupts.pause(seconds, has_ended)
    return 0


def serve_metrics(home: api.Home, host: str, port: int, stack: ExitStack) -> Callable[[], bool]:
    """Serve the metrics on a thread until the stack is closed, and announce the address.

    Closing the stack raises the error of a server that failed.

    Returns:
        A function that returns True if the server has ended.

    Raises:
        BadParameter: the host and port cannot be listened on.
    """
    from streams_orchestration.operators.serving.http_server import HttpServer

    try:
        listener = listen(host, port, Places(MAX_CLIENT_CONNECTIONS))
    except OSError as error:
        message = f"{host}:{port} cannot be listened on: {error.strerror}. Name another host or port."
        raise click.BadParameter(message, click.get_current_context(), param_hint="'--serve'") from error
    port = listener.getsockname()[1]
    server = HttpServer(api.build_metrics_app(home, host, port), listener, SHUTDOWN_SECONDS)
    serving = BackgroundCall(server.run)

    def end() -> None:
        server.should_exit = True
        serving.result()

    stack.callback(end)
    shown = f"[{host}]" if ":" in host else host
    note(f"Metrics are at http://{shown}:{port}/metrics until Ctrl-C.")
    return lambda: serving.wait(0.0)


def _open_and_announce_sender(home: api.Home, stack: ExitStack) -> tuple[Callable[[], None], float]:
    """Return a function that sends the metrics once, and the seconds between two calls, and announce these.

    The sender is closed with the stack.
    """
    require("streams metrics --otlp", "opentelemetry", "opentelemetry-sdk", "otlp")
    try:
        seconds = api.read_interval_seconds()
    except ValueError as error:
        message = f"{error}."
        raise click.UsageError(message, click.get_current_context()) from error
    sender = api.SnapshotSender(home)
    stack.callback(sender.close)
    note(f"Metrics are sent every {seconds:g} s until Ctrl-C.")
    return sender.send, seconds
