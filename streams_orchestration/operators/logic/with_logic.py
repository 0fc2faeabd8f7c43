"""Logic of SPL in operators that have none of their own: it runs for each tuple and mark before the operator does.

In SPL any operator may have `state`, `onTuple` and `onPunct`. The compiler marks the class of such an operator with
`LOGIC_SUFFIX` of `operators/import_path.py`; `with_logic` derives a class from it that has the parameter `spl`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import Field, create_model

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Parameters, Punctuation
from streams_orchestration.operators.import_path import LOGIC_SUFFIX
from streams_orchestration.operators.logic.operator import check_policy
from streams_orchestration.operators.logic.program import LogicProgram, SplLogic, state_signature
from streams_orchestration.operators.states.rescaling import Sharding
from streams_orchestration.operators.states.state import State

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
        """Check the operator, and its logic."""
        super().check(context, parameters)
        if getattr(parameters, "on_error", "fail") != "fail":
            check_policy(parameters)
        LogicProgram(context, parameters.spl)

    @classmethod
    def has_state(cls, parameters: Any) -> bool:
        """Return True if the operator has state, or the logic has variables."""
        return bool(_variables(parameters)) or cls.inner.has_state(parameters)

    @classmethod
    def keeps_state(cls, before: Any, after: Any) -> bool:
        """Return True if the state of the operator stays valid, and the logic has the same variables."""
        return _variables(before) == _variables(after) and super().keeps_state(before, after)

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: Any) -> Sharding:
        """Return a refusal if the logic has variables, since their values belong to one channel."""
        if _variables(parameters):
            return Sharding(refusal="has variables of logic, which belong to one channel")
        return super().sharding(context, parameters)

    def setup(self) -> None:
        """Compile the logic, and run the initialisers of its variables."""
        self.logic = LogicProgram(self.context, self.parameters.spl)
        super().setup()
        self.logic.begin()
        self.pure = False
        if self.parameters.spl.on_punct:
            self.heeds_marks = True

    def process(self, port: int, batch: TupleBatch) -> None:
        """Run the logic for tuples, then the operator."""
        self.logic.tuples(port, batch)
        super().process(port, batch)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Run the logic for a mark, then the operator."""
        self.logic.mark(port, mark)
        super().on_punctuation(port, mark)

    def checkpoint(self) -> State:
        """Return the state of the operator, and the variables of the logic."""
        own = {f"{_PREFIX}{name}": part for name, part in self.logic.checkpoint().items()}
        return {**super().checkpoint(), **own}

    def restore(self, state: State) -> None:
        """Restore the state of the operator, and the variables of the logic."""
        super().restore({name: part for name, part in state.items() if not name.startswith(_PREFIX)})
        own = {name.removeprefix(_PREFIX): part for name, part in state.items() if name.startswith(_PREFIX)}
        self.logic.restore(own)

    def reset_to_initial_state(self) -> None:
        """Reset the operator, and give the variables of the logic their first values."""
        super().reset_to_initial_state()
        self.logic.reset()
        self.logic.begin()


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
