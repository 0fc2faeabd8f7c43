"""`JournalSource`: base class of sources whose senders cannot repeat input, so that a journal stores it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from streams_orchestration import world
from streams_orchestration.operators.clients.backoff import Backoff
from streams_orchestration.operators.contract.operator import Offset, OperatorContext, ProducedTo, SourceOperator
from streams_orchestration.operators.errors.errors import DataError, check_attributes
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.formats.bad_tuples import BadTuples, check_bad_port
from streams_orchestration.operators.journal.files import DamagedError, JournalFiles
from streams_orchestration.operators.journal.intake import Intake
from streams_orchestration.operators.journal.reading import JournalReader, TrimmedError
from streams_orchestration.operators.journal.records import JournalMessage
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.loading.packages import require_package
from streams_orchestration.operators.messages.decoders import (
    Bad,
    Decoded,
    MessageFormat,
    MessageParameters,
    check_decodable,
    decode,
    decoded_schema,
    without_nulls,
)
from streams_orchestration.operators.sinks.epoch_sink import waiting_directory
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch

JOURNAL = "journal"
"""The name of the journal's directory among the files of its operator."""
LEAST_LIMIT = 8 << 20


class JournalParameters(MessageParameters):
    """The parameters shared by all sources with a journal."""

    format: MessageFormat = Field(default="json", description="Format of a message.")
    metadata: dict[str, str] = Field(
        default_factory=dict,
        description="Maps an attribute to number, received, or a name of the sender that the source defines.",
    )
    max_message_bytes: int = Field(
        default=1 << 20, alias="maxMessageBytes", ge=1, description="Largest size of one message in bytes."
    )
    journal_limit: int = Field(
        default=1 << 30,
        alias="journalLimit",
        ge=LEAST_LIMIT,
        description="Largest number of unread bytes in the journal.",
    )

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        if 8 * self.max_message_bytes > self.journal_limit:
            yield "journalLimit is less than eight messages of maxMessageBytes; raise it, or lower maxMessageBytes"


class JournalSource(SourceOperator):
    """A source that receives in the host's process and produces tuples from the journal.

    `receive` runs in the process of the host that runs the source's PE, on a separate object, across all batches and
    resets. Messages passed to the intake are on disk before `receive` continues. `produce` reads the journal; its
    offset is the number of the next message, so a reset replays received messages. The runtime removes messages that no
    cut needs.
    """

    Parameters = JournalParameters
    naming_parameters = NamingParameters(outputs=("metadata",))
    origin: ClassVar[str] = "sender"
    """The name by which `metadata` and the second output port refer to a message's origin."""
    package: ClassVar[tuple[str, str, str] | None] = None
    """The Python package that the source needs: one of its modules, the extra that installs it, and its name."""

    async def receive(self, intake: Intake) -> None:
        """Receive until cancelled; call `intake.receiving` once receiving works.

        The method is called again after a growing pause if it returns or raises.

        Raises:
            RefusedError: receiving is permanently impossible; the source fails as well.
            Exception: receiving is impossible now.
        """
        raise NotImplementedError

    @classmethod
    def keeps_state(cls, before: JournalParameters, after: JournalParameters) -> bool:
        """Return True, because message numbers do not depend on parameters."""
        return True

    @classmethod
    def endless(cls, parameters: JournalParameters) -> str:
        """Return the reason why a run cannot be limited to available input: others send while it runs."""
        return f"a {cls.__name__} receives messages as long as it runs, so its input has no end"

    @classmethod
    def restored(cls, offset: Offset) -> Offset:
        """Return an offset with the mark that it is restored from a savepoint; an empty one stays empty.

        A savepoint contains no journal. If the journal that the offset names is missing, the source reads its own
        journal from the start.
        """
        return offset | {"restored": True} if offset else offset

    @classmethod
    def check(cls, context: OperatorContext, parameters: JournalParameters) -> None:
        """Raise ValueError if attributes, format, ports or region do not fit, or the package is missing.

        Listens and connects to nothing.
        """
        schema = context.output_schema()
        for attribute, kind in parameters.metadata.items():
            check_attributes("metadata", [attribute], schema.names, "the output stream")
            wanted = _metadata_types(cls.origin).get(kind)
            if wanted is None:
                message = f"metadata: {attribute}: {kind} is not one of {', '.join(_metadata_types(cls.origin))}"
                raise ValueError(message)
            if not wanted(schema.field(attribute).type):
                message = (
                    f"metadata: {attribute} is {type_name(schema.field(attribute).type)}, but number needs a "
                    f"bigint, received a timestamp, and {cls.origin} a string"
                )
                raise ValueError(message)
        cls.check_format(context, decoded_schema(schema, parameters.metadata), parameters)
        bad = {"number": "bigint", cls.origin: "string", "reason": "string", "message": "string"}
        check_bad_port(context, parameters.on_bad_tuple, bad, "malformed messages")
        context.require_one_channel("receive at the same address")
        if cls.package is not None:
            require_package(cls.__name__, *cls.package)

    @classmethod
    def check_format(cls, context: OperatorContext, schema: pa.Schema, parameters: JournalParameters) -> None:
        """Raise ValueError if the format cannot represent the decoded attributes."""
        check_decodable(schema, parameters.format)

    @classmethod
    def directory_of(cls, context: OperatorContext) -> Path:
        """Return the journal's directory."""
        return waiting_directory(context) / JOURNAL

    def setup(self) -> None:
        """Prepare decoding and reading. The first call of `produce` opens the journal."""
        self.schema = self.context.output_schema()
        self.decoded = decoded_schema(self.schema, self.parameters.metadata)
        self.backoff = Backoff(self.context)
        self.reader = JournalReader(self.directory_of(self.context))
        self.bad_tuples = BadTuples(self, self.parameters.on_bad_tuple, "messages")
        self.read: list[JournalMessage] = []
        """The messages of the last call of `produce`."""

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit the next messages, and update the lag; without any, check whether the receiver reports a problem."""
        try:
            offset, self.read = self._next_messages(offset, limit)
        except DamagedError as error:
            raise DataError(str(error)) from error
        self._measure(offset)
        if self.read:
            self._submit(self.read)
            self.backoff.back()
        else:
            self._check_receiver()
        return ProducedTo(offset, exhausted=False)

    def pause(self) -> float | None:
        """Return the seconds until the next check while nothing can be received, else None."""
        return self.backoff.pause or None

    def place(self) -> str:
        """Return the numbers and up to three origins of the last submitted messages; empty without any."""
        if not self.read:
            return ""
        origins = sorted({message.origin for message in self.read if message.origin})
        numbers = f"messages {self.read[0].number} to {self.read[-1].number} of the journal"
        return f"{numbers}, from {', '.join(origins[:3])}{' and others' if len(origins) > 3 else ''}"

    def _next_messages(self, offset: Offset, limit: int) -> tuple[Offset, list[JournalMessage]]:
        """Return at most `limit` next messages, and the offset after them. Lost messages are skipped as `_lose` says.

        Unread messages in the journal of an operator that this one replaced come first.
        """
        files = self.reader.files
        if offset and offset["journal"] != files.id:
            path = former_journal(self.context, offset["journal"])
            former = None if path is None else JournalReader(path)
            if former is None and not offset.get("restored"):
                self._lose(f"{files.directory}: the journal is missing; it has the next message, {offset['next']}", 0)
            elif former is not None:
                number, messages = self._read_journal(former, offset["next"], limit)
                following = number + len(messages)
                if following > offset["next"] or former.files.is_held():
                    return offset | {"next": following}, messages
            offset = {}
        if files.id is None:
            return offset, []
        number, messages = self._read_journal(self.reader, offset["next"] if offset else self.reader.first(), limit)
        return {"journal": files.id, "next": number + len(messages)}, messages

    def _read_journal(self, reader: JournalReader, number: int, limit: int) -> tuple[int, list[JournalMessage]]:
        """Return a number, and at most `limit` messages of a journal from there on.

        If messages were lost and skipped, return the first number that is left, and no messages.
        """
        try:
            return number, reader.read(number, limit)
        except TrimmedError as error:
            self._lose(str(error), max(error.first - number, 0))
            return error.first, []

    def _lose(self, what: str, count: int) -> None:
        """Log and count messages that were deleted before they were read, unless `onLostData` is `fail`.

        Args:
            what: describes the loss and its place.
            count: the number of lost messages, or 0 if it is unknown.
        """
        if self.parameters.on_lost_data == "fail":
            message = (
                f"{what}; onLostData: skip continues with the existing messages, --fresh begins with an empty journal"
            )
            raise DataError(message)
        self.context.logger.warning("%s: skipped", what)
        self.context.metrics.counter("lost", "messages that were deleted before they were read").add(count)

    def _measure(self, offset: Offset) -> None:
        behind = max(self.reader.files.durable() - offset["next"], 0) if offset else 0
        age = world.now() - self.read[-1].received if behind and self.read else 0.0
        self.context.metrics.lag(behind, max(age, 0.0))

    def _check_receiver(self) -> None:
        """Check whether the receiver reports a problem, and begin or end the back-off.

        This is called when all messages are read.
        """
        reported = self.reader.files.reported()
        error = reported.get("error")
        if error is None:
            self.backoff.back()
        elif reported["refused"]:
            raise DataError(error)
        else:
            self.backoff.away(ConnectionError(error))

    def decode_messages(self, values: Sequence[bytes]) -> Decoded:
        """Decode messages to tuples. The result also lists the messages that cannot be converted, with the reasons."""
        return decode(values, self.decoded, self.parameters.format, self.parameters.dialect())

    def _submit(self, messages: Sequence[JournalMessage]) -> None:
        result = self.decode_messages([message.value for message in messages])
        required = [name for name in self.context.required_at() if name in self.decoded.names]
        result = without_nulls(result, len(messages), required)
        columns = dict(zip(result.batch.schema.names, result.batch.columns, strict=True))
        wrong = {bad.position for bad in result.bad}
        good = [message for number, message in enumerate(messages) if number not in wrong]
        for attribute, kind in self.parameters.metadata.items():
            columns[attribute] = self._metadata(good, kind, self.schema.field(attribute).type)
        if result.bad:
            self._set_aside(messages, result.bad)
        if good:
            self.submit(TupleBatch.from_columns({name: columns[name] for name in self.schema.names}, self.schema))

    def _metadata(self, messages: Sequence[JournalMessage], kind: str, type: pa.DataType) -> pa.Array:
        if kind == "number":
            return pa.array([message.number for message in messages], type)
        if kind == "received":
            times = pa.array([round(message.received * 1000) for message in messages], pa.int64())
            return times.cast(pa.timestamp("ms")).cast(type)
        return pa.array([message.origin for message in messages], type)

    def _set_aside(self, messages: Sequence[JournalMessage], bad: Sequence[Bad]) -> None:
        """Handle bad messages by `onBadTuple`."""
        rows = [(messages[each.position], each.reason) for each in bad]
        faults = [
            f"message {message.number} of the journal, from {message.origin}: it cannot become a tuple: {reason}"
            for message, reason in rows
        ]
        columns = {
            "number": [message.number for message, _ in rows],
            self.origin: [message.origin for message, _ in rows],
            "reason": [reason for _, reason in rows],
            "message": [message.value.decode(errors="replace") for message, _ in rows],
        }
        self.bad_tuples.set_aside(faults, columns)


def former_journal(context: OperatorContext, journal: str) -> Path | None:
    """Find a journal's directory by its id among all operators of this application; None if there is none."""
    return next((path for path in context.pending.glob(f"*/{JOURNAL}") if JournalFiles(path).id == journal), None)


def _metadata_types(origin: str) -> dict:
    return {"number": pa.types.is_int64, "received": pa.types.is_timestamp, origin: pa.types.is_string}
