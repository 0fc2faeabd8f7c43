"""UDPSink: sends each tuple as a datagram."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.errors import RefusedError
from streams_orchestration.operators.serving.server_names import NAME, check_port, found, shown
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.standard.network.line_sinks import LineSink, LineSinkParameters
from streams_orchestration.operators.tuples.batch import TupleBatch

MAX_DATAGRAM_BYTES = 65_507
"""The largest number of bytes in a datagram."""


class UdpSinkParameters(LineSinkParameters):
    """The parameters of `UDPSink`."""

    address: str | None = Field(
        default=None, min_length=1, description="Address to send to, which may be a multicast group."
    )
    port: int | None = Field(default=None, ge=1, le=65535, description="Port to send to.")
    name: str | None = Field(default=None, min_length=1, description=NAME)
    time_to_live: int = Field(
        default=1, alias="timeToLive", ge=0, le=255, description="Routers that datagrams to a group may pass."
    )

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        check_port(self.name, self.port, server=False)
        if (self.name is None) != (self.address is not None):
            yield (
                "the parameter address is missing"
                if self.name is None
                else "name and address exclude each other; give one of them"
            )


class UDPSink(LineSink):
    """Sends a datagram for each tuple. Nobody acknowledges datagrams, so they may be lost without notice."""

    Parameters = UdpSinkParameters
    _socket: socket.socket | None = None

    @classmethod
    def destination(cls, context: OperatorContext, parameters: UdpSinkParameters) -> str:
        """Return the address."""
        return shown("udp", parameters.address or "", parameters.port, parameters.name)

    def deliver(self, key: DeliveryKey, batches: Iterator[TupleBatch]) -> None:
        """Send the tuples."""
        given: UdpSinkParameters = self.parameters
        address = (
            (given.address or "", given.port or 0) if given.name is None else found(self.context.names, given.name)
        )
        try:
            for batch in batches:
                for row in self.parameters.rows(batch.arrow):
                    if len(row) > MAX_DATAGRAM_BYTES:
                        message = f"a tuple has {len(row)} bytes, but a datagram has at most {MAX_DATAGRAM_BYTES}"
                        raise RefusedError(message)
                    self._sender(address[0]).sendto(row, address)
        except OSError as error:
            message = f"address {address[0]}, port {address[1]}: {error.strerror or error}"
            raise ConnectionError(message) from None

    def _sender(self, address: str) -> socket.socket:
        if self._socket is None:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            self._socket = socket.socket(family, socket.SOCK_DGRAM)
            if family == socket.AF_INET:
                self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, self.parameters.time_to_live)
        return self._socket

    def close(self) -> None:
        """Release the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
