"""The address parameters of sources that acknowledge to a broker, and shared helpers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from typing import ClassVar, NamedTuple
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from streams_orchestration.operators.clients.http_client import check_address
from streams_orchestration.operators.errors.errors import RefusedError
from streams_orchestration.operators.errors.external_errors import chain
from streams_orchestration.operators.journal.intake import Intake
from streams_orchestration.operators.journal.source import JournalParameters
from streams_orchestration.operators.references import Secret, resolved

CONNECT_SECONDS = 10.0
"""Timeout in seconds of one attempt to connect to a broker."""

CLOSE_SECONDS = 1.0
"""Timeout in seconds for closing a connection cleanly."""


class Delivery(NamedTuple):
    """One message received from a broker."""

    value: bytes
    origin: str
    key: str = ""
    """The message's key, which is the same in every delivery; empty if the broker has no keys."""


class BrokerParameters(JournalParameters):
    """The parameters shared by all sources that acknowledge to a broker."""

    schemes: ClassVar[dict[str, int]] = {}
    """Map each supported URL scheme to its default port."""
    url: str = Field(min_length=1, repr=False, description="Address scheme://host:port, without user and password.")
    user: str | None = Field(default=None, description="Name of the user, or a reference ${env:NAME} or ${file:PATH}.")
    password: Secret = Field(
        default=None, description="Password of the user, as a reference ${env:NAME} or ${file:PATH}."
    )

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        check_address(url, cls.schemes, "host:port", "name them in user and password")
        return url

    @property
    def host_and_port(self) -> tuple[str, int]:
        """The host and port of the address."""
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or self.schemes[parts.scheme]

    def secret(self, name: str) -> str | None:
        """Return the value of a parameter, with references such as `${env:NAME}` resolved; None if it is not set.

        A secret is masked in all output from then on.

        Raises:
            UnresolvedReferenceError: the reference cannot be resolved.
        """
        text = getattr(self, name)
        return None if text is None else resolved(text, name)


def tls_error(error: Exception, url: str) -> Exception | None:
    """Translate an error that TLS caused into our own words; return None for any other error.

    Returns:
        A RefusedError if a retry cannot help, a ConnectionError if the connection was merely closed, else None.
    """
    cause = next((each for each in chain(error) if isinstance(each, ssl.SSLError)), None)
    if cause is None:
        return None
    if isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError):
        return ConnectionError(f"{url}: cannot be reached: the connection was closed")
    reason = getattr(cause, "reason", None) or cause.strerror  # an error of the handshake has its name in `reason`
    return RefusedError(f"{url}: it does not speak TLS, or its certificate is not trusted: {reason}")


async def take(intake: Intake, deliveries: Sequence[Delivery], most: int) -> None:
    """Write messages into the journal, once for each key, and wait while it is full.

    The caller may then acknowledge the messages.

    Args:
        intake: the intake of the journal.
        deliveries: the messages, in order.
        most: the largest message size in bytes. A longer message is counted and left out.
    """
    fitting = [each for each in deliveries if len(each.value) <= most]
    for each in deliveries:
        if len(each.value) > most:
            about = "a message of %s has %s bytes, more than maxMessageBytes, and was left out"
            intake.count("too long", about, each.origin, len(each.value))
    await asyncio.gather(*(intake.put([each.value], each.origin, each.key) for each in fitting))
