"""InetSource of the toolkit com.ibm.streamsx.inet: reads documents again and again, by way of a journal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pydantic import Field

from streams_orchestration.model.containers import listed
from streams_orchestration.model.secrets import masked
from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.journal.intake import Intake
from streams_orchestration.operators.journal.source import JournalParameters
from streams_orchestration.operators.loading.packages import require_package
from streams_orchestration.operators.toolkits.fetching import ENDED, FetchingSource
from streams_orchestration.operators.toolkits.http_calls import HttpCaller
from streams_orchestration.operators.toolkits.typed_ports import TypedPortParameters
from streams_orchestration.spl.types.types import BLOB, RSTRING, Collection, Tuple, Type

RECORD, MARK = "record", "mark"
"""The origins of records in the journal: a value of a tuple, the end of a fetch; see also `ENDED`."""
_LIST = Collection("list", (RSTRING,))


class InetSourceParameters(TypedPortParameters, JournalParameters):
    """The parameters of `InetSource`."""

    uri_list: str | list[str] = Field(alias="URIList", description="Addresses, each http:, https: or file:.")
    ignore_uri_check_exception: bool = Field(
        default=False, alias="ignoreURIcheckException", description="Accept addresses of an unknown form."
    )
    init_delay: float = Field(default=0.0, alias="initDelay", ge=0, description="Seconds before the first fetch.")
    fetch_interval: float = Field(default=600.0, alias="fetchInterval", ge=0, description="Seconds between fetches.")
    iterations: int = Field(default=0, ge=0, description="Number of fetches; 0: no limit.")
    timeout: int = Field(default=0, ge=0, description="Seconds allowed for an answer; 0: no limit.")
    incremental_fetch: bool = Field(
        default=False, alias="incrementalFetch", description="Leave out the text that the last fetch began with."
    )
    unconditional_fetch: bool = Field(
        default=False, alias="unconditionalFetch", description="Ask for documents that have not changed, too."
    )
    do_not_stream_initial_fetch: bool = Field(
        default=False, alias="doNotStreamInitialFetch", description="Submit nothing of the first fetch."
    )
    punct_per_fetch: bool = Field(
        default=False, alias="punctPerFetch", description="Submit a window marker after each fetch."
    )
    input_lines_per_record: int = Field(
        default=1, alias="inputLinesPerRecord", ge=0, description="Lines of a record; 0: all lines of the document."
    )
    intra_record_pad_value: str = Field(
        default=" ", alias="intraRecordPadValue", description="Text between the lines of a record."
    )
    emit_tuple_per_fetch: bool = Field(
        default=False, alias="emitTuplePerFetch", description="Submit a list of all records of a fetch."
    )
    emit_tuple_per_uri: bool = Field(
        default=False, alias="emitTuplePerURI", description="Submit a list of all records of an address."
    )
    emit_tuple_per_record_count: int = Field(
        default=0, alias="emitTuplePerRecordCount", ge=0, description="Number of records in a list."
    )

    @property
    def addresses(self) -> list[str]:
        """The addresses."""
        return listed(self.uri_list)

    def target(self, type_: Tuple) -> tuple[str, Type]:
        """Return the attribute that gets the data, with its type. Raise ValueError if data cannot have that type."""
        first = type_.attributes[0]
        if first.type not in (RSTRING, _LIST, BLOB):
            message = f"the attribute {first.name} is {first.type}, but rstring, list<rstring> or blob is expected"
            raise ValueError(message)
        if first.type == RSTRING:
            lists = {"emitTuplePerFetch": self.emit_tuple_per_fetch, "emitTuplePerURI": self.emit_tuple_per_uri}
            lists["emitTuplePerRecordCount"] = self.emit_tuple_per_record_count > 1
            if wrong := next((name for name, given in lists.items() if given), None):
                message = f"{wrong}: the attribute {first.name} is rstring, but list<rstring> is expected"
                raise ValueError(message)
        return first.name, first.type


class InetSource(FetchingSource):
    """Fetches documents every `fetchInterval` seconds, and submits their lines, their records or their bytes.

    Data is in the journal before it is submitted, so a reset submits it again. A document that has not changed is
    submitted again from memory, or with `incrementalFetch` not at all. The body of a response is submitted whatever its
    HTTP status. The source ends after `iterations` fetches. When its host starts again, fetches are counted from 0, and
    the first fetch of the host is like the first fetch of the source.
    """

    Parameters = InetSourceParameters
    value_origin = RECORD

    @classmethod
    def check(cls, context: OperatorContext, parameters: JournalParameters) -> None:
        """Raise ValueError if attributes and parameters do not fit. Connects to nothing.

        It also fails in a parallel region of several channels, and without the package requests.
        """
        assert isinstance(parameters, InetSourceParameters)
        parameters.target(parameters.output_type(context))
        for each in parameters.addresses:
            if not parameters.ignore_uri_check_exception and not each.startswith(("http://", "https://", "file:/")):
                message = f"URIList: {masked(each)!r:.80} begins with none of http://, https:// and file:/"
                raise ValueError(message)
        context.require_one_channel("fetch the same")
        require_package("InetSource", "requests", "http")

    @classmethod
    def destination(cls, context: OperatorContext, parameters: InetSourceParameters) -> str:
        """Return the addresses."""
        return ", ".join(map(masked, parameters.addresses))

    # --- in the host's process

    async def receive(self, intake: Intake) -> None:
        """Write fetched data into the journal until the source ends, then wait to be cancelled.

        The journal also gets the end of each fetch with `punctPerFetch`, and the end of the source. A document that
        cannot be fetched is logged and left out.
        """
        given: InetSourceParameters = self.parameters
        _, kind = given.target(given.output_type(self.context))
        documents = [_Document(each, given, self.context.base) for each in given.addresses]
        gathered: list[str] = []
        fetches = 0
        try:
            await asyncio.sleep(given.init_delay)
            intake.receiving(masked(given.addresses[0]))
            while True:
                begins = fetches > 0 or not given.do_not_stream_initial_fetch
                for document in documents:
                    data = await asyncio.to_thread(document.fetch)
                    if document.error:
                        self.context.logger.warning("%s: %s", masked(document.address), document.error)
                    elif begins and kind == BLOB:
                        await intake.put([data], RECORD)
                    elif begins:
                        await intake.put(list(self._values(data, gathered, kind)), RECORD)
                if begins and kind == _LIST and self._is_per_fetch() and gathered:
                    await intake.put([_taken(gathered)], RECORD)
                if begins and given.punct_per_fetch:
                    await intake.put([b""], MARK)
                fetches += 1
                if fetches == given.iterations:
                    break
                await asyncio.sleep(given.fetch_interval)
            await intake.put([b""], ENDED)
            await asyncio.Event().wait()
        finally:
            for document in documents:
                document.close()

    def _is_per_fetch(self) -> bool:
        """Return True if a list has the records of a whole fetch, as it does without other parameters."""
        given: InetSourceParameters = self.parameters
        return given.emit_tuple_per_fetch or not (given.emit_tuple_per_uri or given.emit_tuple_per_record_count)

    def _values(self, data: bytes, gathered: list[str], kind: Type) -> Iterator[bytes]:
        """Yield the values of the tuples that a document completes.

        Args:
            data: the document.
            gathered: the records that wait for others of their list.
            kind: the type of the attribute.
        """
        given: InetSourceParameters = self.parameters
        for record in records_of(data, given.input_lines_per_record, given.intra_record_pad_value.encode()):
            if kind == RSTRING:
                yield record
                continue
            gathered.append(record.decode(errors="replace"))
            if 0 < given.emit_tuple_per_record_count <= len(gathered):
                yield _taken(gathered)
        if kind == _LIST and given.emit_tuple_per_uri and gathered:
            yield _taken(gathered)

    # --- in the tasks

    def setup(self) -> None:
        """Prepare the columns and the reading of the journal."""
        super().setup()
        self.target, self.kind = self.parameters.target(self.made)

    def value(self, data: bytes) -> object:
        """Return the bytes, the list or the text in a record."""
        if self.kind == BLOB:
            return data
        return json.loads(data) if self.kind == _LIST else super().value(data)


def records_of(data: bytes, lines: int, pad: bytes) -> Iterator[bytes]:
    r"""Yield the records of a document.

    Args:
        data: the document.
        lines: the lines of a record; 0 for all.
        pad: the text between two lines of a record. Empty lines after the first one are left out.

    >>> list(records_of(b"a\nb\n\nc", 1, b" ")), list(records_of(b"a\nb\n\nc\n", 2, b"-"))
    ([b'a', b'b', b'', b'c'], [b'a-b', b'c'])
    >>> list(records_of(b"a\n\nb", 0, b" "))
    [b'a b']
    """
    every = data.removesuffix(b"\n").split(b"\n") if data else []
    for begin in range(0, len(every), lines or max(len(every), 1)):
        first, *others = every[begin : begin + (lines or len(every))]
        for line in filter(None, others):
            first += pad + line if first else line
        yield first


def _taken(gathered: list[str]) -> bytes:
    """Return the gathered records as the value of a tuple, and remove them from the list."""
    value = json.dumps(gathered).encode()
    gathered.clear()
    return value


class _Document:
    """One document that is fetched again and again."""

    def __init__(self, address: str, given: InetSourceParameters, base: Path) -> None:
        self.address = address
        self.error = ""
        """The reason why the last fetch failed; empty if it did not."""
        self._given = given
        self._base = base
        self._caller: HttpCaller | None = None
        self._known = b""
        """The document as the last fetch has got it."""
        self._stamp = ""
        """The time of its last change as the server writes it, or a file's time and size; empty at first."""

    def fetch(self) -> bytes:
        """Fetch the document and return the data to submit; set `error` and return nothing if the fetch fails.

        An unchanged document is returned again. With `incrementalFetch`, nothing is returned then, and the text that
        the fetch before began with is left out.
        """
        self.error = ""
        data = self._read() if self.address.startswith("file:") else self._ask()
        if self.error:
            return b""
        known, self._known = self._known, self._known if data is None else data
        if not self._given.incremental_fetch:
            return self._known
        if data is None or data == known:
            return b""
        return data.removeprefix(known)

    def close(self) -> None:
        """Close the connection to the server."""
        if self._caller is not None:
            self._caller.close()

    def _read(self) -> bytes | None:
        """Read and return a file, and note its time and size; None if both are as before, or after setting `error`."""
        name = unquote(urlsplit(self.address).path)
        path = Path("/" + name.lstrip("/"))
        path = path if path.is_absolute() and path.exists() else self._base / name.lstrip("/")
        try:
            status = path.stat()
            stamp = f"{status.st_mtime_ns} {status.st_size}"  # two changes within a tick of the clock have one time
            if stamp == self._stamp and not self._given.unconditional_fetch:
                return None
            data, self._stamp = path.read_bytes(), stamp
        except OSError as error:
            self.error = error.strerror or str(error)
            return None
        return data

    def _ask(self) -> bytes | None:
        """Make a request and return the body of the answer, whatever its status, and note the time of its last change.

        None if it has not changed, or after setting `error`.
        """
        if self._caller is None:
            self._caller = HttpCaller({"User-Agent": "IBMStreams/4.0"}, timeout=self._given.timeout or None)
        since = {"If-Modified-Since": self._stamp} if self._stamp and not self._given.unconditional_fetch else None
        answer = self._caller.call("GET", self.address, headers=since, redirects=True)
        self.error = answer.error
        if self.error or answer.status == 304:
            return None
        stamps = (each.partition(": ")[2] for each in answer.headers if each.lower().startswith("last-modified: "))
        self._stamp = next(stamps, "")
        return answer.body
