"""Custom: calls Python functions of the application's own."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import Field

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Parameters, Punctuation
from streams_orchestration.operators.function import FunctionOperator, as_batch
from streams_orchestration.operators.implementation import import_name
from streams_orchestration.operators.standard.refused import REFUSED
from streams_orchestration.operators.state import State

_EMPTIED = "@emptied"
_NAMES = ("batch", "mark", "port", "state", "arguments", "metrics")


class CustomParameters(Parameters):
    """Parameters of `Custom`."""

    function: str = Field(description="package.module:name, called for every batch")
    on_punctuation: str | None = Field(
        default=None, alias="onPunctuation", description="package.module:name, called for every mark"
    )
    state: dict[str, Any] = Field(default_factory=dict, description="what `state` holds at the beginning")
    arguments: dict[str, Any] = Field(default_factory=dict, description="given to the functions as `arguments`")


class Custom(Operator):
    """The functions take what they need, by name: `batch` or `mark`, `port`, `state`, `arguments`, `metrics`.

    They return or yield what is to be submitted: batches, or columns by attribute, for output port 0; pairs of a port
    and one of these for any port; marks. `state` is a dictionary of parts of a state that is checkpointed.
    """

    Parameters = CustomParameters
    unsupported = REFUSED["Custom"]
    stateful = True

    @classmethod
    def check(cls, context: OperatorContext, parameters: CustomParameters) -> None:
        """Raises ValueError when a function is not there or wants what there is not."""
        cls._functions(parameters)
        try:
            json.dumps(parameters.state)
        except TypeError as error:
            message = f"state: {error}"
            raise ValueError(message) from error

    @classmethod
    def _functions(cls, parameters: CustomParameters) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
        mark = parameters.on_punctuation
        return (
            _function(parameters.function, "function", "mark"),
            None if mark is None else _function(mark, "onPunctuation", "batch"),
        )

    def setup(self) -> None:
        """Import the functions."""
        self.on_batch, self.on_mark = self._functions(self.parameters)
        self.reset_to_initial_state()

    def reset_to_initial_state(self) -> None:
        """The state that the parameters name."""
        self.state: dict[str, Any] = copy.deepcopy(self.parameters.state)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Call `function`."""
        self._call(self.on_batch, port, batch=batch)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Call `onPunctuation`."""
        if self.on_mark is not None:
            self._call(self.on_mark, port, mark=mark)

    def _call(self, function: Callable[..., Any], port: int, **item: Any) -> None:
        known = item | {"port": port, "state": self.state, "arguments": self.parameters.arguments}
        known["metrics"] = self.context.metrics
        result = function(**{name: known[name] for name in inspect.signature(function).parameters})
        for output, part in _outputs(result):
            if isinstance(part, Punctuation):
                self.punctuate(part, output)
            else:
                self.submit(as_batch(part, self.context, output), output)

    def checkpoint(self) -> State:
        """What the functions keep."""
        # an empty state is not stored, but here it is not what the parameters name
        return self.state or ({_EMPTIED: True} if self.parameters.state else {})

    def restore(self, state: State) -> None:
        """Take it back."""
        self.state = {name: value for name, value in state.items() if name != _EMPTIED}


def _outputs(result: Any) -> Iterable[tuple[int, Any]]:
    if result is None:
        return
    alone = isinstance(result, TupleBatch | Mapping | Punctuation | tuple)
    for part in (result,) if alone else result:
        yield part if isinstance(part, tuple) else (0, part)


def _function(name: str, parameter: str, absent: str) -> Callable[..., Any]:
    try:
        found = import_name(name)
    except ValueError as error:
        message = f"{parameter}: {error}"
        raise ValueError(message) from error
    if isinstance(found, type) and issubclass(found, FunctionOperator):
        message = f"{parameter}: {name} is an operator itself; name it as the invocation's `operator`"
        raise ValueError(message)
    if not callable(found):
        message = f"{parameter}: {name} is no function"
        raise ValueError(message)
    for argument in inspect.signature(found).parameters:
        if argument not in _NAMES or argument == absent:
            names = ", ".join(known for known in _NAMES if known != absent)
            message = f"{parameter}: {name} takes {argument}; there is only {names}"
            raise ValueError(message)
    return found
