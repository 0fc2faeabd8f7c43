"""The base class of operators that may have logic of SPL beside their expressions."""

from __future__ import annotations

from pydantic import Field

from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.inputs.failed_tuples import ExpressionParameters
from streams_orchestration.operators.logic.program import LogicProgram, SplLogic, state_signature
from streams_orchestration.operators.states.state import State


class LogicParameters(ExpressionParameters):
    """Base class of the parameters of operators with expressions and logic."""

    spl: SplLogic | None = Field(
        default=None,
        description="Logic in SPL that runs before the expressions: state, onTuple, onPunct.",
    )


def check_policy(parameters: LogicParameters) -> None:
    """Check that `onError` is `fail` if there is logic of SPL.

    Logic may change its variables before it fails at a tuple, so skipping the tuple would not undo that.

    Raises:
        ValueError: `onError` is another policy.
    """
    if parameters.spl is not None and parameters.on_error != "fail":
        message = (
            f"onError: {parameters.on_error} cannot be combined with logic in SPL, which may have changed its "
            "variables before a tuple fails; leave onError out, and check in onTuple for the conditions that fail"
        )
        raise ValueError(message)


class LogicOperator(Operator):
    """Keeps the variables of logic over checkpoints, restarts and redeploys; `setup` sets `logic`."""

    Parameters = LogicParameters
    logic: LogicProgram | None = None
    heeds_marks = False

    @classmethod
    def has_state(cls, parameters: LogicParameters) -> bool:
        """Return True if the logic has variables."""
        return parameters.spl is not None and bool(parameters.spl.state.spl)

    @classmethod
    def keeps_state(cls, before: LogicParameters, after: LogicParameters) -> bool:
        """Return True if the logic has the same variables."""
        return state_signature(before.spl) == state_signature(after.spl)

    def use(self, logic: LogicProgram) -> None:
        """Set the logic of the operator, and run the initialisers of its variables; see `LogicProgram.begin`.

        The logic runs tuple by tuple, so the operator is no longer pure, gets the tuples between two watermarks, and
        gets window marks.
        """
        self.logic = logic
        logic.begin()
        self.keeps_places = self.pure = False
        self.heeds_marks = True

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Run the logic for a mark. Raises DataError if an operation has no value."""
        if self.logic is not None:
            self.logic.mark(port, mark)

    def checkpoint(self) -> State:
        """Return the variables of the logic; nothing without logic."""
        return {} if self.logic is None else self.logic.checkpoint()

    def restore(self, state: State) -> None:
        """Restore the variables of the logic. Raises DataError if an initialiser has no value."""
        if self.logic is not None:
            self.logic.restore(state)
