"""The compiled programs of an operator: one for each input port and event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from streams_orchestration.spl.programs.natives import NativeFunction
from streams_orchestration.spl.programs.run import Run
from streams_orchestration.spl.types.types import Optional, Tuple
from streams_orchestration.spl.typing import typed

if TYPE_CHECKING:
    import pyarrow as pa

    from streams_orchestration.spl.programs.loops.ports import PortProgram
    from streams_orchestration.spl.programs.outcome import PortOutput

Ports = Sequence[tuple[str, Tuple]]
"""The names and tuple types of ports."""


class Program:
    """The compiled programs of an operator: one for each input port and event."""

    def __init__(
        self,
        ports: tuple[Ports, Ports],
        run: Run,
        state: Sequence[typed.Declare],
        functions: Sequence[typed.Function],
        bodies: Mapping[tuple[str, int], typed.Statement],
        values: Mapping[int, Sequence[tuple[typed.Expression, int | None]]],
        natives: Sequence[NativeFunction] = (),
        *,
        ordered: bool = False,
    ) -> None:
        """Compile the programs.

        Raises:
            ProgramError: a part of the programs cannot be run here.
        """
        from streams_orchestration.spl.programs.loops.ports import Environment, ExpressionValue, PortProgram

        self.inputs, self.outputs = ports
        self.ordered = ordered or ("onProcess", 0) in bodies
        types = [type_ for _, type_ in self.outputs]
        environment = Environment(self.inputs, types, state, functions, natives, ordered)
        self.variables = [(each.name, each.type) for each in state]
        self._begin = PortProgram(environment, run, 0, _beginning(state)) if state else None
        self.expressions = {port: [expression for expression, _ in each] for port, each in values.items()}
        body = bodies.get(("onProcess", 0))
        pausing = replace(environment, ordered=True, pausing=True)
        self._process = None if body is None else PortProgram(pausing, run, 0, body)
        self._tuples: dict[int, PortProgram] = {}
        self._marks: dict[int, PortProgram] = {}
        for port in range(len(self.inputs)):
            evaluated = [ExpressionValue(expression, guard) for expression, guard in values.get(port, ())]
            body = bodies.get(("onTuple", port))
            if body is not None or evaluated:
                self._tuples[port] = PortProgram(environment, run, port, body, evaluated)
            if (body := bodies.get(("onPunct", port))) is not None:
                self._marks[port] = PortProgram(environment, run, port, body)

    def initial_state(self) -> dict[str, Any]:
        """Run the initialisers of state variables; return all values or defaults. Raises FailedError if one fails."""
        from streams_orchestration.spl.programs.values import default_of

        state = {name: default_of(type_) for name, type_ in self.variables}
        if self._begin is not None:
            self._begin(state, {}, 1)
        return state

    def on_tuples(
        self, port: int, state: dict[str, Any], batch: pa.RecordBatch
    ) -> tuple[list[PortOutput], list[pa.Array]]:
        """Run the program of a port for a batch; return the submitted tuples, and the values of the port's expressions.

        The program changes `state`. A port without a program submits nothing, and has no values.

        Raises:
            FailedError: an operation fails for a tuple, or an attribute does not have its type in SPL.
            RunError: the value of an expression cannot be stored in a column.
        """
        from streams_orchestration.spl.programs.columns import array_of, attribute_values

        outputs = self._outcome()
        program = self._tuples.get(port)
        if program is None:
            return outputs, []
        type_ = self.inputs[port][1]
        columns: dict[str, list[Any]] = {}
        for name in program.attributes:
            kind = type_.type_of(name)
            assert kind is not None
            columns[name] = attribute_values(name, batch.column(name), kind, program.file)
        found = program(state, columns, batch.num_rows, outputs)
        expressions = self.expressions.get(port, [])
        return outputs, [
            array_of(values, each.type) if None not in values else array_of(values, Optional(each.type))
            for values, each in zip(found, expressions, strict=True)
        ]

    def on_mark(self, port: int, state: dict[str, Any], word: str) -> list[PortOutput]:
        """Run the program of a port for a punctuation mark, if any, which changes `state`; return what it submits.

        Raises:
            FailedError: an operation fails.
        """
        outputs = self._outcome()
        program = self._marks.get(port)
        if program is not None:
            program(state, {}, 1, outputs, word)
        return outputs

    def _outcome(self) -> list[PortOutput]:
        from streams_orchestration.spl.programs.outcome import PortOutput

        order: list[int] | None = [] if self.ordered else None
        return [PortOutput(type_, order=order, number=number) for number, (_, type_) in enumerate(self.outputs)]

    def process(self) -> tuple[list[PortOutput], Iterator[float | None]]:
        """Start the program of a source.

        Return its outputs, and its iterator (see `PortProgram.steps`). Raises FailedError if an initialiser fails.
        """
        assert self._process is not None
        outputs = self._outcome()
        return outputs, self._process.steps(self.initial_state(), outputs)

    def arrays(self, output: PortOutput) -> list[pa.Array]:
        """Return the tuples that were submitted to an output port as Arrow columns.

        Raises RunError if a timestamp is outside of the years 1677 to 2262, or a string cannot be encoded.
        """
        from streams_orchestration.spl.programs.columns import array_of

        attributes = output.type.attributes
        return [array_of(values, each.type) for values, each in zip(output.columns, attributes, strict=True)]


def _beginning(state: Sequence[typed.Declare]) -> typed.Statement:
    """Return a statement that assigns its initial value to each state variable with an initialiser."""
    written: list[typed.Statement] = []
    for each in state:
        if each.value is not None:
            value = each.value if each.value.type == each.type else typed.Cast(each.span, each.type, each.value)
            variable = typed.Variable(each.span, each.type, each.name, "state")
            written.append(typed.Evaluate(each.span, typed.Assign(each.span, each.type, "=", variable, value)))
    return typed.Block(state[0].span, tuple(written))
