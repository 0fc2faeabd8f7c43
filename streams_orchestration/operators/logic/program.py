"""Logic of SPL in an operator: its parameter, its programs and their state."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from streams_orchestration.model.programs import is_native
from streams_orchestration.operators.contract.context import OperatorContext
from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.errors.errors import AbortedError, DataError, FaultyExpressionError, TupleError
from streams_orchestration.operators.expressions.spl.natives import NativeEntry, native_functions
from streams_orchestration.operators.expressions.spl.program_environment import run_of
from streams_orchestration.operators.expressions.spl.text import SplText, place_of
from streams_orchestration.operators.expressions.spl.types import written_tuple_type
from streams_orchestration.operators.loading.import_path import ImplementationError
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.logic.variables import from_json, restored, stored, to_json
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.spl.programs.errors import AbortError, ProgramError, RunError
from streams_orchestration.spl.types.types import BOOLEAN
from streams_orchestration.spl.types.written import WrittenTypeError

if TYPE_CHECKING:
    from streams_orchestration.spl.programs.logic import LogicText, LogicTexts
    from streams_orchestration.spl.programs.outcome import PortOutput
    from streams_orchestration.spl.programs.program import Program

_MARKS = {"WindowMarker": Punctuation.WINDOW, "FinalMarker": Punctuation.FINAL}
_WORDS = {mark: word for word, mark in _MARKS.items()}


class _Body(BaseModel):
    """An SPL text with its place. `lines` has the source line of each line of the text, if they differ."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    spl: str
    at: str = Field(default="", exclude=True)
    lines: tuple[int, ...] = Field(default=(), exclude=True)


def _body(value: Any) -> Any:
    return {"spl": value} if isinstance(value, str) else value


_Text = Annotated[_Body, BeforeValidator(_body)]


def _function(value: Any) -> Any:
    return value if is_native(value) else _body(value)


_Function = Annotated[_Body | NativeEntry, BeforeValidator(_function)]


class SplLogic(BaseModel):
    """The logic of an invocation in SPL."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    state: _Text = Field(default=_Body(spl=""), description="Declarations of variables that live with the operator.")
    on_tuple: dict[int, _Text] = Field(default={}, alias="onTuple")
    on_punct: dict[int, _Text] = Field(default={}, alias="onPunct")
    on_process: _Text | None = Field(
        default=None, alias="onProcess", description="A program of a Custom without input ports, which is a source."
    )
    functions: tuple[_Function, ...] = Field(default=(), description="Functions in SPL, and native ones.")
    constants: dict[str, Any] = Field(default={}, description="Submission-time values by name.")
    inputs: dict[str, str] = Field(
        default={},
        description="Maps an input port to an SPL tuple type, for attributes whose columns do not determine it.",
    )
    outputs: dict[str, str] = Field(default={}, description="Maps an output port to an SPL tuple type, as inputs does.")
    columns: tuple[str, ...] = Field(
        default=(),
        description=(
            "Variables that expressions of the operator read, as columns beside the attributes of its input ports."
        ),
    )
    ordered: bool = Field(
        default=False,
        description="Keep the order of tuples over all output ports, for operators that get tuples of several of them.",
    )
    at: str = Field(default="", exclude=True)

    @property
    def texts(self) -> LogicTexts:
        """The texts of the clauses, each with its file, line and column."""
        from streams_orchestration.spl.programs.logic import LogicTexts

        whole = place_of(self.at)

        def placed(body: _Body) -> LogicText:
            return body.spl, place_of(body.at) if body.at else whole, body.lines

        bodies = {("onTuple", port): body for port, body in self.on_tuple.items()}
        bodies |= {("onPunct", port): body for port, body in self.on_punct.items()}
        if self.on_process is not None:
            bodies["onProcess", 0] = self.on_process
        return LogicTexts(
            placed(self.state),
            {event: placed(body) for event, body in bodies.items()},
            tuple(placed(each) for each in self.functions if isinstance(each, _Body)),
        )

    @property
    def natives(self) -> tuple[NativeEntry, ...]:
        """The native functions."""
        return tuple(each for each in self.functions if isinstance(each, NativeEntry))


def data_error(error: Exception) -> DataError:
    """Return the error of the data for the failure of a program; an `AbortedError` if the program called abort."""
    return (AbortedError if isinstance(error.__cause__, AbortError) else DataError)(str(error))


class LogicProgram:
    """The logic of one operator with its state.

    It consists of statements that run for tuples and marks, and expressions that are evaluated after them.
    """

    def __init__(
        self,
        context: OperatorContext,
        logic: SplLogic,
        expressions: Mapping[int, Sequence[tuple[SplText, str, int | None]]] | None = None,
        *,
        submits: bool = False,
    ) -> None:
        """Compile the logic.

        Args:
            context: the operator's context.
            logic: the parameter.
            expressions: for each input port, the expressions that are evaluated after its logic. Each is a triple of
                text, parameter, and the index of a condition in the list, or None. The expression is evaluated only if
                that condition holds.
            submits: True if the logic may submit tuples, as in a Custom.

        Raises:
            FaultyExpressionError: the logic has mistakes, or cannot be run here.
        """
        from streams_orchestration.spl.programs.reading import ProgramTextError

        self.context = context
        self.run = run_of(context, logic.constants)
        try:
            self.program = self._read(logic, expressions or {}, submits=submits)
        except (ProgramTextError, ProgramError, WrittenTypeError, RunError, ImplementationError) as error:
            where = f"{logic.at}: " if logic.at and logic.at.partition(":")[0] not in str(error) else ""
            message = f"{where}spl: {error}"
            raise FaultyExpressionError(message, "spl", "") from error
        for port, each in (expressions or {}).items():
            for (text, parameter, _), tree in zip(each, self.program.expressions[port], strict=True):
                if parameter == "filter" and tree.type != BOOLEAN:
                    where = f"{text.at}: " if text.at else ""
                    message = f"{where}filter: {text.text!r} is {tree.type}; a condition is boolean"
                    raise FaultyExpressionError(message, "filter", text)
        self.reset()

    def _read(
        self,
        logic: SplLogic,
        expressions: Mapping[int, Sequence[tuple[SplText, str, int | None]]],
        *,
        submits: bool,
    ) -> Program:
        from streams_orchestration.spl.programs.logic import read_logic

        context = self.context
        names = [*logic.inputs, *context.ports[len(logic.inputs) :]]
        names += [f"in{at}" for at in range(len(names), len(context.inputs))]
        inputs = [
            (name, written_tuple_type(logic.inputs.get(name, ""), schema))
            for name, schema in zip(names, context.inputs, strict=False)
        ]
        labels = [*logic.outputs, *(f"out{at}" for at in range(len(logic.outputs), len(context.outputs)))]
        outputs = [
            (label, written_tuple_type(logic.outputs.get(label, ""), context.output_schema(at)))
            for at, label in enumerate(labels)
        ]
        called = [each for texts in expressions.values() for text, _, _ in texts for each in text.natives]
        return read_logic(
            logic.texts,
            inputs,
            outputs,
            self.run,
            {
                port: [(text.text, place_of(text.at), guard) for text, _, guard in texts]
                for port, texts in expressions.items()
            },
            submits=submits,
            natives=native_functions((*logic.natives, *called)),
            ordered=logic.ordered and len(outputs) > 1,
        )

    def reset(self) -> None:
        """Reset every variable to its initial value. The next use of the variables runs the initialisers."""
        self._state: dict[str, Any] | None = None
        self._kept: dict[str, DictState] = {}

    @property
    def state(self) -> dict[str, Any]:
        """The values of the variables by name; the first use runs their initialisers.

        A check of the logic does not run them, since they may call native functions.

        Raises:
            DataError: an initialiser has no value.
        """
        if self._state is None:
            self._state = self._initial_state()
        return self._state

    def _initial_state(self) -> dict[str, Any]:
        """Run the initialisers, and return the values of the variables. Raises DataError if one has no value."""
        from streams_orchestration.spl.programs.outcome import FailedError

        try:
            return self.program.initial_state()
        except FailedError as error:
            raise data_error(error) from error

    def begin(self) -> None:
        """Run the initialisers of the variables, unless they have run. Raises DataError if one has no value."""
        _ = self.state

    # --- running

    def tuples(self, port: int, batch: TupleBatch) -> tuple[list[PortOutput], list[pa.Array]]:
        """Run the logic for tuples; return the submitted tuples, and the values of the expressions.

        Raises:
            TupleError: an operation has no value for a tuple. The cause names the place in the source.
            DataError: the value of an expression cannot be stored in a column.
        """
        from streams_orchestration.spl.programs.outcome import FailedError

        try:
            return self.program.on_tuples(port, self.state, batch.arrow)
        except FailedError as error:
            raise TupleError(error.position) from data_error(error)
        except RunError as error:
            raise DataError(str(error)) from error

    def mark(self, port: int, mark: Punctuation) -> list[PortOutput]:
        """Run the logic for a punctuation mark, and return its submissions; empty if the logic ignores the mark.

        After a final mark, print a last line whose end was not printed.

        Raises:
            DataError: an operation has no value.
        """
        from streams_orchestration.spl.programs.outcome import FailedError

        try:
            outputs = self.program.on_mark(port, self.state, _WORDS[mark])
        except FailedError as error:
            raise data_error(error) from error
        if mark is Punctuation.FINAL:
            self.run.end_line()
        return outputs

    def submit(self, operator: Operator, outputs: Sequence[PortOutput]) -> None:
        """Submit the outputs of a program, port by port. Marks keep their positions among the tuples of their port.

        An ordered program submits the tuples and marks of all ports in the order in which the logic did. Final marks
        are left out.

        Raises:
            DataError: tuples do not fit their stream.
        """
        if self.program.ordered and outputs:
            self._submit_in_order(operator, outputs)
            return
        for port, output in enumerate(outputs):
            if not len(output) and not output.marks:
                continue
            batch = self._batch(port, output)
            begin = 0
            for end, word in output.marks:
                if end > begin:
                    operator.submit(batch.slice(begin, end - begin), port)
                _punctuate(operator, word, port)
                begin = end
            if begin < len(batch):
                operator.submit(batch.slice(begin) if begin else batch, port)

    def _submit_in_order(self, operator: Operator, outputs: Sequence[PortOutput]) -> None:
        batches = [self._batch(port, output) if len(output) else None for port, output in enumerate(outputs)]
        sent, marked = [0] * len(outputs), [0] * len(outputs)
        for port, run in itertools.groupby(outputs[0].order or ()):
            output, left = outputs[port], sum(1 for _ in run)
            while left:
                marks, done = output.marks[marked[port] :], sent[port]
                count = min(left, (marks[0][0] if marks else len(output)) - done)
                batch = batches[port]
                if count and batch is not None:
                    operator.submit(batch.slice(done, count), port)
                    sent[port] += count
                    left -= count
                if left:
                    _punctuate(operator, marks[0][1], port)
                    marked[port] += 1
                    left -= 1

    def _batch(self, port: int, output: PortOutput) -> TupleBatch:
        schema = self.context.output_schema(port)
        try:
            return TupleBatch(pa.RecordBatch.from_arrays(self.program.arrays(output), schema=schema))
        except (pa.ArrowInvalid, TypeError, RunError) as error:
            message = f"the tuples of output port {port} do not fit its stream: {error}"
            raise DataError(message) from error

    # --- state

    def columns(self, names: Sequence[str]) -> list[pa.Array]:
        """Return the present values of some variables as columns of one row.

        Raises:
            RunError: a value cannot be stored in a column.
            DataError: an initialiser has no value.
        """
        from streams_orchestration.spl.programs.columns import array_of

        types = dict(self.program.variables)
        return [array_of([self.state[name]], types[name]) for name in names]

    def values(self) -> dict[str, Any]:
        """Return the variables as JSON."""
        return {name: to_json(type_)(self.state[name]) for name, type_ in self.program.variables}

    def set_values(self, values: Mapping[str, Any]) -> None:
        """Set the variables to values that `values` returned. A variable without a value gets its initial one.

        Raises:
            DataError: an initialiser has no value.
        """
        self.reset()
        known = {name: type_ for name, type_ in self.program.variables if name in values}
        self.state.update({name: from_json(type_)(values[name]) for name, type_ in known.items()})

    def checkpoint(self) -> State:
        """Return the variables as parts of an operator's state: maps and sets by their keys, all else by name."""
        return stored(self.program.variables, self.state, self._kept)

    def restore(self, state: State) -> None:
        """Restore the variables. The initialisers run first, for variables without a stored value.

        Raises:
            DataError: an initialiser has no value.
        """
        self._state = restored(self.program.variables, state, self._initial_state(), self._kept)


def state_signature(logic: SplLogic | None) -> str:
    """Return the names and types of the variables; an empty text without any.

    A state can be restored only by logic with the same names and types.
    """
    if logic is None or not logic.state.spl:
        return ""
    from streams_orchestration.spl.programs.logic import declared

    return "; ".join(f"{type_} {name}" for name, type_ in declared(logic.texts))


def _punctuate(operator: Operator, word: str, port: int) -> None:
    """Submit a mark, but no final one: the end of the input puts one on each port, as in Streams only once."""
    if word != "FinalMarker":
        operator.punctuate(_MARKS[word], port)
