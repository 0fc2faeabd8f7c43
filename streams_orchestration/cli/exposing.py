"""`streams metrics`: the metrics of all applications for Prometheus and OpenTelemetry."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import ExitStack

import click
from prometheus_client import start_http_server

from streams_orchestration.cli.extras import require
from streams_orchestration.cli.interrupts import Interrupts
from streams_orchestration.cli.invocation import write_output
from streams_orchestration.cli.loading import load
from streams_orchestration.cli.messages import note
from streams_orchestration.runtime.observing.exposition.prometheus import metrics_text, registry_of
from streams_orchestration.runtime.storage.home import Home

EXPOSITION = "streams_orchestration.runtime.observing.exposition"
LOOK_SECONDS = 3600.0
"""Seconds of each pause of a server that only serves; a signal ends the pause."""


def metrics(serve: tuple[str, int] | None, *, otlp: bool) -> int:
    """Write, serve or send them; the exit status."""
    home = Home.default()
    if serve is None and not otlp:
        write_output(metrics_text(home)[0].decode(), None)
        return 0
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    with ExitStack() as stack:
        send, seconds = _sender(home, stack) if otlp else (lambda: None, LOOK_SECONDS)
        if serve is not None:
            _serve(home, *serve, stack)
        with Interrupts(lambda: None) as interrupts:
            while not interrupts.requested:
                send()
                interrupts.pause(seconds)
    return 0


def _serve(home: Home, host: str, port: int, stack: ExitStack) -> None:
    """Serve them on threads until the stack is closed."""
    try:
        server, _ = start_http_server(port, host, registry_of(home))
    except OSError as error:
        message = f"{host}:{port} cannot be listened on: {error.strerror}. Name another host or port."
        raise click.BadParameter(message, click.get_current_context(), param_hint="'--serve'") from error
    stack.callback(server.server_close)
    stack.callback(server.shutdown)
    shown = f"[{host}]" if ":" in host else host
    note(f"Metrics are at http://{shown}:{server.server_port}/metrics until Ctrl-C.")


def _sender(home: Home, stack: ExitStack) -> tuple[Callable[[], None], float]:
    """Return a function that sends the metrics once, and the seconds between two calls."""
    require("streams metrics --otlp", "opentelemetry", "opentelemetry-sdk", "otlp")
    try:
        seconds: float = load(f"{EXPOSITION}.opentelemetry:interval_seconds")()
    except ValueError as error:
        message = f"{error}."
        raise click.UsageError(message, click.get_current_context()) from error
    sender = load(f"{EXPOSITION}.opentelemetry:Sender")(home)
    stack.callback(sender.close)
    note(f"Metrics are sent every {seconds:g} s until Ctrl-C.")
    return sender.send, seconds
