"""TCPSink: sends tuples over a TCP connection."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.formats.compression import Compression, Compressor
from streams_orchestration.operators.serving.server_names import NAME, check_port, found, register, shown, unregister
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.standard.network.line_sinks import LineSink, LineSinkParameters
from streams_orchestration.operators.tuples.batch import TupleBatch

TIMEOUT_SECONDS = 10.0
"""Seconds allowed for a connection, and for a receiver to take bytes."""
CLIENT_SECONDS = 1.0
"""Seconds that one attempt of a server waits for a client."""


class TcpSinkParameters(LineSinkParameters):
    """The parameters of `TCPSink`."""

    role: Literal["server", "client"] = Field(
        default="client", description="client: connect. server: listen, and send to one client at a time."
    )
    address: str = Field(default="127.0.0.1", min_length=1, description="Address to connect to, or to listen at.")
    port: int | None = Field(
        default=None, ge=0, le=65535, description="Port. 0, for a server: any free port, which the log names."
    )
    name: str | None = Field(default=None, min_length=1, description=NAME)
    compression: Compression | None = Field(
        default=None, description="Compression of all the bytes of a connection; none by default."
    )

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        check_port(self.name, self.port, server=self.role == "server")
        if self.role == "client" and self.port == 0:
            yield "port: role client needs a port to connect to"


class TCPSink(LineSink):
    """Sends the tuples of each complete epoch, or batch if `visibility: read_uncommitted`, to the receiver, in order.

    Tuples wait while there is no connection. If a connection breaks, its last epoch or batch is sent again on the next
    one, so a receiver may get tuples twice. Bytes that TCP had accepted and a broken connection did not deliver are
    lost without notice, since receivers acknowledge nothing.
    """

    Parameters = TcpSinkParameters
    _listener: socket.socket | None = None
    _connection: socket.socket | None = None
    _compressor: Compressor | None = None
    """The compressor of the bytes of the connection; None without compression."""
    _awaits_client = False
    _entry = ""

    @classmethod
    def destination(cls, context: OperatorContext, parameters: TcpSinkParameters) -> str:
        """Return the address."""
        return shown("tcp", parameters.address, parameters.port, parameters.name)

    def deliver(self, key: DeliveryKey, batches: Iterator[TupleBatch]) -> None:
        """Send the tuples to the receiver."""
        connection = self._connected()
        for batch in batches:
            rows = b"".join(self.parameters.rows(batch.arrow))
            try:
                connection.sendall(rows if self._compressor is None else self._compressor.part(rows))
            except OSError as error:
                raise self._away(error) from None

    def _connected(self) -> socket.socket:
        """Return the connection to the receiver, a new one if there is none or the receiver has closed it."""
        if self._connection is not None and _is_closed(self._connection):
            self._connection.close()
            self._connection = None
        if self._connection is None:
            self._connection = self._accepted() if self.parameters.role == "server" else self._reached()
            self._connection.settimeout(TIMEOUT_SECONDS)
            compression = self.parameters.compression
            self._compressor = None if compression is None else Compressor(compression)
        return self._connection

    def _reached(self) -> socket.socket:
        given: TcpSinkParameters = self.parameters
        named = found(self.context.names, given.name) if given.name is not None else None
        try:
            return socket.create_connection(named or (given.address, given.port or 0), TIMEOUT_SECONDS)
        except OSError as error:
            raise self._away(error) from None

    def _accepted(self) -> socket.socket:
        """Wait for the next client and return its connection; first listen and register the name, if not done yet."""
        if self._listener is None:
            try:
                self._listener = socket.create_server((self.parameters.address, self.parameters.port or 0))
            except OSError as error:
                raise self._away(error) from None
            address, port = self._listener.getsockname()[:2]
            if (name := self.parameters.name) is not None:
                self._entry = register(self.context.names, name, address, port)
            self.context.logger.info("operator %s: listens at %s:%s", self.context.name, address, port)
        self._listener.settimeout(CLIENT_SECONDS)
        try:
            connection, _ = self._listener.accept()
        except TimeoutError:
            self._awaits_client = True
            message = f"{self._place}: no client has connected"
            raise ConnectionError(message) from None
        return connection

    @property
    def _place(self) -> str:
        given: TcpSinkParameters = self.parameters
        place = f"address {given.address}, port {given.port}"
        return place if given.name is None else f"name {given.name}"

    def _away(self, error: OSError) -> ConnectionError:
        reason = (
            f"no answer within {TIMEOUT_SECONDS:g} s" if isinstance(error, TimeoutError) else error.strerror or error
        )
        return ConnectionError(f"{self._place}: {reason}")

    def close(self) -> None:
        """Close the connection, after the end of a compressed stream.

        A server also stops listening and gives up its name, unless no client has connected in time since the last
        call: then it keeps listening.
        """
        if self._connection is not None:
            if self._compressor is not None:
                with contextlib.suppress(OSError):
                    self._connection.sendall(self._compressor.end())
            self._connection.close()
            self._connection = None
        if self._listener is not None and not self._awaits_client:
            if self.parameters.name is not None:
                unregister(self.context.names, self.parameters.name, self._entry)
            self._listener.close()
            self._listener = None
        self._awaits_client = False


def _is_closed(connection: socket.socket) -> bool:
    """Drop the bytes that the receiver sent, and return True if the connection is closed or broken."""
    connection.settimeout(0)
    try:
        while chunk := connection.recv(1 << 16):
            del chunk
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        connection.settimeout(TIMEOUT_SECONDS)
    return True
