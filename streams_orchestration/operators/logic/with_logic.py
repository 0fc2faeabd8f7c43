"""Logic of SPL in operators that have none of their own: it runs for each tuple and mark before the operator does.

In SPL any operator may have `state`, `onTuple` and `onPunct`. The compiler marks the class of such an operator with
`LOGIC_SUFFIX` of `operators/loading/import_path.py`; `with_logic` derives a class from it that has the parameter `spl`.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import Field, create_model

from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Parameters, Punctuation
from streams_orchestration.operators.expressions.spl.text import SplText
from streams_orchestration.operators.loading.import_path import LOGIC_SUFFIX
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.logic.operator import check_policy
from streams_orchestration.operators.logic.program import LogicProgram, SplLogic, state_signature
from streams_orchestration.operators.states.rescaling import Sharding
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch

_PREFIX = "@logic."
"""The beginning of the names of the parts of a state with the variables of the logic."""

_Base = Operator if TYPE_CHECKING else object


class _WithLogic(_Base):
    """The methods that add logic to an operator. Each calls the method of the same name of the operator's class."""

    stateful = True
    inner: ClassVar[type[Operator]]
    """The class of the operator without logic."""

    @classmethod
    def check(cls, context: OperatorContext, parameters: Any) -> None:
        """Check the operator with its logic.

        Raises ValueError if the logic has mistakes, or is combined with another `onError` than `fail`.
        """
        if getattr(parameters, "on_error", "fail") != "fail":
            check_policy(parameters)
        super().check(replace(context, inputs=_compiled(context, parameters.spl)[1]), parameters)

    @classmethod
    def has_state(cls, parameters: Any) -> bool:
        """Return True if the operator has state, or the logic has variables."""
        return bool(_variables(parameters)) or cls.inner.has_state(parameters)

    @classmethod
    def keeps_state(cls, before: Any, after: Any) -> bool:
        """Return True if the state of the operator stays valid, and the logic has the same variables and columns."""
        same = _variables(before) == _variables(after) and _columns(before) == _columns(after)
        return same and super().keeps_state(before, after)

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: Any) -> Sharding:
        """Return a refusal if the logic has variables, which belong to one channel; else ask the operator."""
        if _variables(parameters):
            return Sharding(refusal="has variables of logic, which belong to one channel")
        return super().sharding(context, parameters)

    def setup(self) -> None:
        """Compile the logic, and run the initialisers of its variables.

        For the operator, variables that its expressions read are attributes of its input.
        """
        self.logic, self.context.inputs = _compiled(self.context, self.parameters.spl)
        self.with_variables = self.context.inputs  # `setup` of an operator may add columns of keys
        super().setup()
        self.logic.begin()
        self.pure = False
        if self.parameters.spl.on_punct:
            self.heeds_marks = True

    def process(self, port: int, batch: TupleBatch) -> None:
        """Run the logic for tuples, then the operator."""
        _, values = self.logic.tuples(port, batch)
        if values:
            arrow = pa.RecordBatch.from_arrays([*batch.arrow.columns, *values], schema=self.with_variables[port])
            batch = TupleBatch(arrow, watermarks=batch.watermarks).const()
        super().process(port, batch)

    def variables_now(self) -> list[pa.Array]:
        """Return the present values of the variables that are columns, in one row.

        Raises RunError if a value cannot be stored in a column, and DataError if an initialiser has no value.
        """
        return self.logic.columns(self.parameters.spl.columns)

    def submit(self, batch: TupleBatch, port: int = 0) -> None:
        """Send tuples, without columns of variables.

        Raises ResultError if the port does not exist, or the tuples do not have its type.
        """
        columns = self.parameters.spl.columns
        if columns and columns[0] in batch.schema.names:
            batch = batch.selected(self.context.outputs[port] or _without(batch.schema, columns))
        super().submit(batch, port)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Run the logic for a mark, then the operator. Raises DataError if an operation of the logic has no value."""
        self.logic.mark(port, mark)
        super().on_punctuation(port, mark)

    def checkpoint(self) -> State:
        """Return the state of the operator, and the variables of the logic."""
        own = {f"{_PREFIX}{name}": part for name, part in self.logic.checkpoint().items()}
        return {**super().checkpoint(), **own}

    def restore(self, state: State) -> None:
        """Restore the state of the operator, and the variables of the logic.

        Raises DataError if an initialiser has no value.
        """
        super().restore({name: part for name, part in state.items() if not name.startswith(_PREFIX)})
        own = {name.removeprefix(_PREFIX): part for name, part in state.items() if name.startswith(_PREFIX)}
        self.logic.restore(own)


def _compiled(context: OperatorContext, spl: SplLogic) -> tuple[LogicProgram, tuple[pa.Schema, ...]]:
    """Return the logic, and the schemas of the input ports with the variables that are columns."""
    bare = tuple(_without(schema, spl.columns) for schema in context.inputs)
    read = [(SplText(name), f"spl.columns.{name}", None) for name in spl.columns]
    logic = LogicProgram(replace(context, inputs=bare), spl, dict.fromkeys(range(len(bare)), read) if read else {})
    if not spl.columns:
        return logic, context.inputs
    from streams_orchestration.spl.programs.columns import arrow_type

    types = [arrow_type(each.type) for each in logic.program.expressions[0]]
    fields = [pa.field(name, kind) for name, kind in zip(spl.columns, types, strict=True)]
    return logic, tuple(pa.schema([*schema, *fields]) for schema in bare)


def _without(schema: pa.Schema, names: Collection[str]) -> pa.Schema:
    return pa.schema([field for field in schema if field.name not in names])


def _columns(parameters: Any) -> tuple[str, ...]:
    spl: SplLogic | None = getattr(parameters, "spl", None)
    return () if spl is None else spl.columns


def _variables(parameters: Any) -> str:
    return state_signature(getattr(parameters, "spl", None))


@functools.cache
def with_logic(kind: type[Operator]) -> type[Operator]:
    """Return a class that runs SPL logic before the operator `kind`; `kind` itself if it runs logic already."""
    if "spl" in kind.Parameters.model_fields:
        return kind
    spl: Any = (SplLogic | None, Field(default=None, description="Logic in SPL: state, onTuple, onPunct."))
    name = kind.Parameters.__name__
    parameters = cast(
        "type[Parameters]", create_model(name, __base__=kind.Parameters, __module__=kind.Parameters.__module__, spl=spl)
    )
    members: dict[str, Any] = {
        "__module__": kind.__module__,
        "__qualname__": f"{kind.__qualname__}{LOGIC_SUFFIX}",  # programs name the class by it
        "__doc__": kind.__doc__,
        "inner": kind,
        "Parameters": parameters,
        "free_parameters": kind.free_parameters | {"spl"},
    }
    return type(kind.__name__, (_WithLogic, kind), members)
