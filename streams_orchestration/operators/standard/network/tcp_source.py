"""TCPSource: reads messages from TCP connections, by way of a journal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Literal

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.compression import Compression, Decompressor
from streams_orchestration.operators.journal.framing import Frames, Framing, FramingLostError, blocks_of, tuples_of
from streams_orchestration.operators.journal.intake import Intake
from streams_orchestration.operators.journal.listening import Listening, shown_peer
from streams_orchestration.operators.serving.listener import BACKLOG, Activity, ClientConnection, Places, listen_at_all
from streams_orchestration.operators.serving.server_names import NAME, check_port, found, register, shown, unregister
from streams_orchestration.operators.standard.network.network_messages import NetworkParameters, NetworkSource

CHUNK_BYTES = 1 << 18
"""The largest number of bytes per read. The messages of one read are one record of the journal."""
CONNECT_SECONDS = 10.0
SILENT_SECONDS = 30.0
"""Seconds without a message after which a connection may be closed to make room for another one."""


class TcpSourceParameters(NetworkParameters):
    """The parameters of `TCPSource`."""

    role: Literal["server", "client"] = Field(
        default="server", description="server: listen for connections. client: connect."
    )
    address: str = Field(default="127.0.0.1", min_length=1, description="Address to listen at, or to connect to.")
    port: int | None = Field(
        default=None, ge=0, le=65535, description="Port. 0, for a server: any free port, which the host's log names."
    )
    name: str | None = Field(default=None, min_length=1, description=NAME)
    framing: Framing = Field(
        default="lines",
        description="Framing of json, csv and raw. lines: by line feeds. length: by four bytes in front of each.",
    )
    block_size: int | None = Field(
        default=None, alias="blockSize", gt=0, description="Bytes of a message of the format block."
    )
    compression: Compression | None = Field(
        default=None, description="Compression of all the bytes of a connection; none by default."
    )
    connections: int = Field(
        default=100,
        ge=1,
        description=("Largest number of open connections of a server. Silent connections yield to new ones."),
    )
    connections_per_address: int | None = Field(
        default=None,
        alias="connectionsPerAddress",
        ge=1,
        description="Largest number of open connections of a server from one address.",
    )
    acknowledge: bool = Field(
        default=False, description="Answer with the number of messages of the connection that are in the journal."
    )

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        if (self.format == "block") != (self.block_size is not None):
            yield "format block and blockSize require each other; give both or neither"
        if self.by_streams and "framing" in self.model_fields_set:
            yield f"framing is for the formats json, csv and raw, not for {self.format}; leave it out"
        of_server = self.model_fields_set & {"connections", "connections_per_address"}
        check_port(self.name, self.port, server=self.role == "server")
        if self.role == "client" and (self.port == 0 or of_server):
            yield (
                "role client needs a port to connect to, and connections and connectionsPerAddress are for role server"
            )


class TCPSource(NetworkSource):
    """Reads messages from connections into the journal, and submits tuples from the journal.

    With `acknowledge` a sender knows which messages are in the journal. Without it, messages in the buffers of a failed
    host are lost without notice. While the journal is full, connections are not read.
    """

    Parameters = TcpSourceParameters

    @classmethod
    def destination(cls, context: OperatorContext, parameters: TcpSourceParameters) -> str:
        """Return the address to listen on or to connect to."""
        return shown("tcp", parameters.address, parameters.port, parameters.name)

    async def receive(self, intake: Intake) -> None:
        """Serve connections, or connect and read, by `role`, until cancelled."""
        settings: TcpSourceParameters = self.parameters
        if settings.role == "client" and settings.name is not None:
            await self._connect(intake, Listening(*found(self.context.names, settings.name)))
            return
        listening: Listening = self.__dict__.setdefault("_listening", Listening(settings.address, settings.port or 0))
        if settings.role == "client":
            await self._connect(intake, listening)
        else:
            await self._serve(intake, listening)

    async def _connect(self, intake: Intake, listening: Listening) -> None:
        connecting = asyncio.open_connection(listening.address, listening.port)
        try:
            reader, writer = await asyncio.wait_for(connecting, CONNECT_SECONDS)
        except TimeoutError:
            message = f"address {listening.address}, port {listening.port}: no answer within {CONNECT_SECONDS:g} s"
            raise ConnectionError(message) from None
        except OSError as error:
            raise listening.explain(error) from None
        intake.receiving(f"a connection to {shown_peer(writer.get_extra_info('peername'))}")
        await self._read_connection(intake, reader, writer)
        message = f"address {listening.address}, port {listening.port}: the connection was closed"
        raise ConnectionError(message)

    async def _serve(self, intake: Intake, listening: Listening) -> None:
        open: set[asyncio.Task[None]] = set()
        places = self._places(intake)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            open.add(task)
            task.add_done_callback(open.discard)
            with contextlib.suppress(asyncio.CancelledError):  # else asyncio would log it as an error
                await self._read_connection(intake, reader, writer, places.of(writer.transport))

        try:
            listeners = listen_at_all(listening.address, listening.port, places)
        except OSError as error:
            raise listening.explain(error) from None
        listening.begun()
        servers = [await asyncio.start_server(serve, sock=each, backlog=BACKLOG) for each in listeners]
        intake.receiving(", ".join(shown_peer(each.getsockname()) for each in listeners))
        names, name = self.context.names, self.parameters.name
        entry = register(names, name, *listeners[0].getsockname()[:2]) if name is not None else ""
        try:
            await asyncio.gather(*(each.serve_forever() for each in servers))
        finally:
            if name is not None:
                unregister(names, name, entry)
            for each in servers:
                each.close()
            tasks = list(open)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _places(self, intake: Intake) -> Places:
        settings: TcpSourceParameters = self.parameters

        def refused(peer: object) -> None:
            intake.count("refused", "a connection from %s was closed: too many connections are open", shown_peer(peer))

        return Places(settings.connections, settings.connections_per_address, SILENT_SECONDS, refused)

    async def _read_connection(
        self,
        intake: Intake,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        held: ClientConnection | None = None,
    ) -> None:
        """Write the messages of one connection to the journal until it ends, and close it; count a broken end.

        With `acknowledge`, answer with the number of written messages.
        """
        settings: TcpSourceParameters = self.parameters
        peer = shown_peer(writer.get_extra_info("peername"))
        frames, unpack = self._frames(), _unpacking(settings.compression)
        taken = 0

        async def keep(messages: list[bytes]) -> None:
            nonlocal taken
            await self._put(intake, messages, peer, held)
            taken += len(messages)
            if settings.acknowledge and messages:
                writer.write(b"%d\n" % taken)
                await writer.drain()

        try:
            while chunk := await reader.read(CHUNK_BYTES):
                await keep(frames.take(unpack(chunk)))
            await keep(frames.end())
            if held is not None and held.is_cut:
                intake.count("silent", "the silent connection from %s was closed in favour of a new one", peer)
            if frames.rest:
                about = "the connection from %s ended within a message; its %s bytes were left out"
                intake.count("cut off", about, peer, frames.rest)
        except FramingLostError as error:
            intake.count("too long", "the connection from %s was closed: %s", peer, error)
        except OSError as error:
            intake.count("broken", "the connection from %s broke: %s", peer, error.strerror or error)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _frames(self) -> Frames:
        """Return the splitting of a connection's bytes into messages, by the parameters.

        At the end of a connection, the rest is a message in the formats block, line, splCsv and splTxt, as in IBM
        Streams.
        """
        settings: TcpSourceParameters = self.parameters
        most, format = settings.max_message_bytes, settings.format
        if format == "bin":
            return Frames(tuples_of(self.tuple_type()), most, skip_empty=False)
        if format == "block":
            return Frames(blocks_of(settings.block_size or 1), most, skip_empty=False, ends=True)
        if not settings.by_streams:
            return Frames(settings.framing, most, skip_empty=format != "raw")
        skips = settings.skips_comments
        return Frames(settings.line_split, most, skip_empty=skips, skip_comments=skips, ends=True)

    @staticmethod
    async def _put(intake: Intake, messages: list[bytes], peer: str, held: ClientConnection | None) -> None:
        """Write messages to the journal. Meanwhile the connection counts as working, so it keeps its place."""
        if held is None or not messages:
            return await intake.put(messages, peer)
        held.note(Activity.WORKING)
        try:
            await intake.put(messages, peer)
        finally:
            held.note(Activity.WAITING)


def _unpacking(compression: Compression | None) -> Callable[[bytes], bytes]:
    """Return the function that decompresses the parts of one connection; it returns them as they are without one.

    It raises FramingLostError for bytes that are not compressed in the format.
    """
    if compression is None:
        return lambda part: part
    decompressor = Decompressor(compression)

    def unpack(part: bytes) -> bytes:
        try:
            return decompressor.part(part)
        except DataError as error:
            raise FramingLostError(str(error)) from error

    return unpack
