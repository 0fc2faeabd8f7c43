r"""CharacterTransform: converts the bytes of attributes from an encoding to another one.

The bytes of a text come in parts, and a part may end within a character:

>>> transcoder = Transcoder("utf-8", "latin-1")
>>> transcoder.part(b"h\xc3"), transcoder.part(b"\xa4user")
(b'h', b'\xe4user')
"""

from __future__ import annotations

import codecs

from pydantic import Field

from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Parameters
from streams_orchestration.operators.errors.errors import DataError, check_attributes
from streams_orchestration.operators.expressions.assignments import Assignments
from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch


class CharacterTransformParameters(Parameters):
    """The parameters of `CharacterTransform`."""

    convert: dict[str, tuple[str, str]] = Field(
        default_factory=dict,
        description="Maps a binary attribute of the output to the encoding of its value and the encoding that it gets.",
    )
    output: dict[str, ExpressionText] = Field(
        default_factory=dict, description="Maps an attribute to an expression. Other attributes keep their values."
    )


class CharacterTransform(Operator):
    """Computes tuples as Functor does, and converts the bytes of attributes from an encoding to another one.

    The values of an attribute are one text in consecutive parts, so a character may begin in one tuple and end in the
    next one. The state has the bytes of a character that has begun; the end of the input drops them.
    """

    Parameters = CharacterTransformParameters
    naming_parameters = NamingParameters(outputs=("convert",), expressions=("output",))
    stateful = True
    indivisible = "is the beginning of a character of one channel"

    @classmethod
    def check(cls, context: OperatorContext, parameters: CharacterTransformParameters) -> None:
        """Raise ValueError if an expression, an attribute or an encoding does not fit."""
        cls._compile(context, parameters)

    @staticmethod
    def _compile(
        context: OperatorContext, parameters: CharacterTransformParameters
    ) -> tuple[Assignments, dict[str, Transcoder]]:
        source = context.inputs[0]
        target = context.outputs[0] or source
        transcoders: dict[str, Transcoder] = {}
        for name, encodings in parameters.convert.items():
            check_attributes("convert", [name], target.names, "the output stream")
            kind = target.field(name).type
            if not pa.types.is_binary(kind):
                message = f"convert: {name} is {type_name(kind)}, but binary is expected"
                raise ValueError(message)
            try:
                transcoders[name] = Transcoder(*encodings)
            except ValueError as error:
                message = f"convert: {name}: {error}"
                raise ValueError(message) from None
        return Assignments(parameters.output, source, target, context.zone, context.required_at()), transcoders

    def setup(self) -> None:
        """Compile the expressions and prepare the conversions; no text has begun."""
        self.assignments, self.transcoders = self._compile(self.context, self.parameters)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit the tuples with their converted attributes; null stays null."""
        tuples = self.assignments.of(Evaluated(batch))
        columns = dict(zip(tuples.arrow.schema.names, tuples.arrow.columns, strict=True))
        for name, transcoder in self.transcoders.items():
            columns[name] = self._converted(name, transcoder, columns[name])
        self.submit(TupleBatch.from_columns(columns, tuples.arrow.schema))

    @staticmethod
    def _converted(name: str, transcoder: Transcoder, values: pa.Array) -> pa.Array:
        try:
            return pa.array(
                [None if each is None else transcoder.part(each) for each in values.to_pylist()], values.type
            )
        except DataError as error:
            message = f"convert: {name}: {error}"
            raise DataError(message) from error

    def checkpoint(self) -> State:
        """Return the bytes of the characters that have begun, by attribute."""
        return {"transcoders": {name: each.dump() for name, each in self.transcoders.items()}}

    def restore(self, state: State) -> None:
        """Restore what `checkpoint` returned."""
        for name, transcoder in self.transcoders.items():
            transcoder.load(state["transcoders"][name])


class Transcoder:
    """A converter of one text after another from an encoding to another one."""

    def __init__(self, source: str, target: str) -> None:
        """Start without a text.

        Raises:
            ValueError: an encoding is unknown.
        """
        self.source, self.target = source, target
        for name in (source, target):
            _require_encoding(name)
        self._decoder = codecs.getincrementaldecoder(source)()
        self._encoder = codecs.getincrementalencoder(target)()

    def part(self, data: bytes) -> bytes:
        """Convert the next bytes; the bytes of a character that does not end in them wait for the next part.

        Raises:
            DataError: bytes are not characters of the first encoding, or the second one lacks a character.
        """
        try:
            return self._encoder.encode(self._decoder.decode(data))
        except UnicodeError as error:
            raise DataError(str(error)) from error

    def dump(self) -> list[str | int]:
        """Return the state: the waiting bytes in hexadecimal, and the states of the decoder and the encoder."""
        pending, flag = self._decoder.getstate()
        return [pending.hex(), flag, int(self._encoder.getstate())]

    def load(self, state: list[str | int]) -> None:
        """Restore a state that `dump` returned."""
        pending, flag, encoder = state
        self._decoder.setstate((bytes.fromhex(str(pending)), int(flag)))
        self._encoder.setstate(int(encoder))


def _require_encoding(name: str) -> None:
    try:
        "a".encode(name)
        b"".decode(name)
    except (LookupError, ValueError):
        message = f"{name!r} is not an encoding of texts, such as UTF-8 or ISO-8859-1"
        raise ValueError(message) from None
