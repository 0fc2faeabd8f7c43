"""UDPSource: receives datagrams, by way of a journal."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Iterator
from typing import Any

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.journal.intake import Intake
from streams_orchestration.operators.journal.listening import Listening, shown_peer
from streams_orchestration.operators.serving.server_names import NAME, check_port, register, shown, unregister
from streams_orchestration.operators.standard.network.network_messages import NetworkParameters, NetworkSource

MAX_UNWRITTEN_DATAGRAMS = 10_000
"""The largest number of unwritten datagrams."""
WAITING_BYTES = 64 << 20
"""The largest total size in bytes of unwritten datagrams."""
BUFFER_BYTES = 4 << 20
"""The socket buffer size in bytes that is requested from the system."""


class UdpSourceParameters(NetworkParameters):
    """The parameters of `UDPSource`."""

    address: str = Field(default="127.0.0.1", min_length=1, description="Address to listen at.")
    port: int | None = Field(
        default=None, ge=0, le=65535, description="Port to listen at. 0: any free port, which the host's log names."
    )
    name: str | None = Field(default=None, min_length=1, description=NAME)

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        check_port(self.name, self.port, server=True)


class UDPSource(NetworkSource):
    """Receives each datagram as a message, without a line feed at its end unless it is a block or a binary tuple.

    Datagrams are not acknowledged, so a sender never waits. Datagrams that arrive while no host runs, or while there is
    no room, are lost. Each message in the journal becomes one tuple.
    """

    Parameters = UdpSourceParameters

    @classmethod
    def destination(cls, context: OperatorContext, parameters: UdpSourceParameters) -> str:
        """Return the address to listen on."""
        return shown("udp", parameters.address, parameters.port, parameters.name)

    async def receive(self, intake: Intake) -> None:
        """Listen, register the address under `name` if it is set, and write datagrams to the journal until cancelled.

        The address is removed at the end.
        """
        settings: UdpSourceParameters = self.parameters
        listening: Listening = self.__dict__.setdefault("_listening", Listening(settings.address, settings.port or 0))
        waiting = WaitingDatagrams()
        socket_receiver = _Datagrams(intake, waiting, settings)
        try:
            transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                lambda: socket_receiver, (settings.address, settings.port or 0)
            )
        except OSError as error:
            raise listening.explain(error) from None
        listening.begun()
        bound: socket.socket = transport.get_extra_info("socket")
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        intake.receiving(shown_peer(bound.getsockname()))
        names, name = self.context.names, settings.name
        entry = register(names, name, *bound.getsockname()[:2]) if name is not None else ""
        try:
            while True:
                datagrams = await waiting.taken()
                groups = [
                    ([value for value, _ in group], sender)
                    for sender, group in itertools.groupby(datagrams, key=lambda each: each[1])
                ]
                await asyncio.gather(*(intake.put(values, sender) for values, sender in groups))
                waiting.written(datagrams)
        finally:
            if name is not None:
                unregister(names, name, entry)
            transport.close()


class WaitingDatagrams:
    """Received datagrams that are not yet written, limited by number and size."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[bytes, str]] = asyncio.Queue()
        self._number = self._bytes = 0

    def add(self, value: bytes, sender: str) -> bool:
        """Add a datagram. Return False if the queue is full."""
        if self._number >= MAX_UNWRITTEN_DATAGRAMS or self._bytes + len(value) > WAITING_BYTES:
            return False
        self._number += 1
        self._bytes += len(value)
        self._queue.put_nowait((value, sender))
        return True

    async def taken(self) -> list[tuple[bytes, str]]:
        """Wait for datagrams and return all of them. They count against the limits until `written` is called."""
        datagrams = [await self._queue.get()]
        while not self._queue.empty():
            datagrams.append(self._queue.get_nowait())
        return datagrams

    def written(self, datagrams: list[tuple[bytes, str]]) -> None:
        """Free the room of datagrams that were written."""
        self._number -= len(datagrams)
        self._bytes -= sum(len(value) for value, _ in datagrams)


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, intake: Intake, waiting: WaitingDatagrams, settings: UdpSourceParameters) -> None:
        self._intake = intake
        self._waiting = waiting
        self._settings = settings
        self._most = settings.max_message_bytes

    def datagram_received(self, data: bytes, addr: Any) -> None:
        sender = shown_peer(addr)
        if len(data) > self._most:
            self._intake.count("too long", "a datagram from %s has %s bytes and was left out", sender, len(data))
            return
        message = self._settings.trimmed(data)
        if self._settings.skips_comments and (not message.strip() or message.startswith(b"#")):
            return
        if not self._waiting.add(message, sender):
            self._intake.count("lost", "a datagram from %s was left out: too many messages wait to be written", sender)
