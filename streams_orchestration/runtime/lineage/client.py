"""The client of OpenLineage. The environment configures it; without a target, nothing is sent."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from streams_orchestration.model.secrets import masked
from streams_orchestration.operators.loading.libraries import import_modules
from streams_orchestration.operators.loading.packages import missing_package
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import RunEvent

URL, CONFIG, DISABLED, NAMESPACE = (
    "OPENLINEAGE_URL",
    "OPENLINEAGE_CONFIG",
    "OPENLINEAGE_DISABLED",
    "OPENLINEAGE_NAMESPACE",
)
TRANSPORT = "OPENLINEAGE__TRANSPORT"
SEND_SECONDS = 2.0
"""Seconds to connect to a server configured by its URL alone, and to get its answer.

A server configured as a transport has the limits of the transport.
"""
_OBJECT = re.compile(r"<[\w.]+ object at 0x[0-9a-f]+>:? ?")
"""Pattern for the address of an object in an error's text, which differs every time."""

log = logging.getLogger("streams.lineage")


class LineageError(StreamsRuntimeError):
    """Events of OpenLineage cannot be sent."""


def target(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the target of events in words, without secrets; None if an environment, by default this one, has none.

    An environment that turns lineage off has none. A configuration file is named, and not read.
    """
    if environment.get(DISABLED, "").strip().lower() == "true":
        return None
    if not _has_type(environment) and (url := environment.get(URL, "").strip()):
        return masked(url)
    if any(name == TRANSPORT or name.startswith(f"{TRANSPORT}__") for name in environment):
        return f"the transport that {TRANSPORT}... names"
    config = environment.get(CONFIG, "").strip()
    return f"the transport that {config} names" if config else None


def _has_type(environment: Mapping[str, str]) -> bool:
    """Return True if the environment gives the type of a transport.

    Other variables of a transport do not count, since the client sets them itself for a plain URL.
    """
    return TRANSPORT in environment or f"{TRANSPORT}__TYPE" in environment


def namespace() -> str:
    """Return the namespace of jobs: `OPENLINEAGE_NAMESPACE`, or `streams`."""
    return os.environ.get(NAMESPACE, "").strip() or "streams"


def explain_missing_client() -> str | None:
    """Return a message with a remedy if a target is configured, but the client is not installed; otherwise None."""
    if (where := target()) is None:
        return None
    message = missing_package("the client of OpenLineage", "openlineage.client", "openlineage", "openlineage-python")
    if message is None:
        return None
    return f"No lineage is sent to {where}: {message}. The application runs without lineage; unset {URL} to send none."


def import_client() -> None:
    """Import the modules of the client, as far as they are installed; call this before threads start."""
    import_modules(
        "openlineage.client",
        "openlineage.client.event_v2",
        "openlineage.client.facet_v2",
        "openlineage.client.serde",
        "openlineage.client.transport.http",
        "openlineage.client.uuid",
        "dateutil.parser",
        "requests",
        "streams_orchestration.runtime.lineage.events",
    )


class Client:
    """The client that sends events. It raises only LineageError, with the same text for the same cause.

    Raises:
        LineageError: the environment names a transport that cannot be used.
    """

    def __init__(self) -> None:
        from openlineage.client import OpenLineageClient

        # The repository of the working directory is unrelated to the application, and its address may hold a token.
        config: dict[str, Any] = {"facets": {"source_code_location": {"disabled": True}}}
        if not _has_type(os.environ) and os.environ.get(URL, "").strip():
            config["transport"] = _http()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                self._client: OpenLineageClient = OpenLineageClient(config=config)
        except Exception as error:
            raise LineageError(_reason(error)) from error

    def send(self, event: RunEvent) -> None:
        """Send an event.

        Raises:
            LineageError: it has not arrived, as far as the transport knows.
        """
        try:
            self._client.emit(event)
        except Exception as error:
            raise LineageError(_reason(error)) from error

    def close(self, seconds: float) -> None:
        """Flush events that the transport has accepted, for at most `seconds`.

        Raises:
            LineageError: the events cannot be sent.
        """
        try:
            self._client.close(seconds)
        except Exception as error:
            raise LineageError(_reason(error)) from error


def _http() -> dict[str, Any]:
    """Return the configuration of the transport for a plain URL, without retries, since the reporter retries.

    A request takes `SEND_SECONDS` at most. The endpoint and an API key are taken from the environment; the default is
    `api/v1/lineage` without a key.
    """
    transport: dict[str, Any] = {
        "type": "http",
        "url": os.environ[URL].strip(),
        "endpoint": os.environ.get("OPENLINEAGE_ENDPOINT") or "api/v1/lineage",
        "timeout": SEND_SECONDS,
        "retry": {"total": 0, "connect": 0, "read": 0, "status_forcelist": []},
    }
    if key := os.environ.get("OPENLINEAGE_API_KEY"):
        transport["auth"] = {"type": "api_key", "apiKey": key}
    return transport


def _reason(error: Exception) -> str:
    """Return the cause in one line, without secrets: the operating system's message if there is one in its chain.

    A time limit that was exceeded has words of its own.
    """
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    if any("Timeout" in type(each).__name__ for each in chain):
        return "it does not answer in time"
    words = [each.strerror for each in chain if isinstance(each, OSError) and each.strerror]
    text = words[-1] if words else str(error) or type(error).__name__
    return masked(" ".join(_OBJECT.sub("", text).split()))
