"""Custom: calls Python functions of the application."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import Field, model_validator

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Parameters, Punctuation
from streams_orchestration.operators.errors import ResultError, TupleError
from streams_orchestration.operators.function import FunctionOperator, as_batch
from streams_orchestration.operators.implementation import import_name
from streams_orchestration.operators.mentions import Mentions
from streams_orchestration.operators.results import described, parts_of
from streams_orchestration.operators.standard.refused import REFUSED
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuple_outputs import TupleOutputs

_EMPTIED = "@emptied"
_ITEMS = {"function": "batch", "onTuple": "values", "onPunctuation": "mark"}
"""Maps each function parameter to the argument that carries the item it is called for."""
_PAIRS = "marks, or pairs of an output port and one of these"
_WANTED = {
    "function": f"returns or yields TupleBatches, columns by attribute, {_PAIRS}",
    "onTuple": f"returns or yields tuples, each a dictionary of its values by attribute, {_PAIRS}",
    "onPunctuation": f"returns or yields TupleBatches, columns by attribute, {_PAIRS}",
}
_NAMES = ("port", "state", "arguments", "metrics")


class CustomParameters(Parameters):
    """The parameters of `Custom`."""

    function: str | None = Field(
        default=None, description="Function package.module:name that is called for every batch."
    )
    on_tuple: str | None = Field(
        default=None,
        alias="onTuple",
        description="Function package.module:name that is called for every tuple, instead of function.",
    )
    on_punctuation: str | None = Field(
        default=None,
        alias="onPunctuation",
        description="Function package.module:name that is called for every punctuation mark.",
    )
    state: dict[str, Any] = Field(default_factory=dict, description="Initial content of `state`.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Values that the functions get as `arguments`.")

    @model_validator(mode="after")
    def _go_together(self) -> CustomParameters:
        if (self.function is None) == (self.on_tuple is None):
            message = "either function, for batches, or onTuple is wanted"
            raise ValueError(message)
        return self


class Custom(Operator):
    """Calls functions for batches, tuples and marks.

    A function names the arguments that it takes: `batch`, `values` or `mark`; `port`, `state`, `arguments`, `metrics`.

    It returns or yields output: batches or columns by attribute for output port 0, pairs of a port and one of these for
    any port, or marks. `onTuple` takes the values of one tuple by attribute and returns such values. `state` is a
    dictionary of state parts that is checkpointed. Without `onPunctuation`, window markers are passed on to all output
    ports.
    """

    Parameters = CustomParameters
    unsupported = REFUSED["Custom"]
    stateful = True
    free_parameters = frozenset(("state",))

    @classmethod
    def mentions(cls, parameters: CustomParameters) -> Mentions:
        """Return no attributes, since the parameters name none."""
        return Mentions()

    @classmethod
    def check(cls, context: OperatorContext, parameters: CustomParameters) -> None:
        """Raise ValueError if a function is missing or has an unknown argument, or the state is not JSON."""
        cls._functions(parameters)
        try:
            json.dumps(parameters.state)
        except TypeError as error:
            message = f"state: {error}"
            raise ValueError(message) from error

    @classmethod
    def _functions(cls, parameters: CustomParameters) -> dict[str, Callable[..., Any]]:
        named = zip(_ITEMS, (parameters.function, parameters.on_tuple, parameters.on_punctuation), strict=True)
        return {parameter: _function(name, parameter) for parameter, name in named if name is not None}

    @classmethod
    def has_state(cls, parameters: CustomParameters) -> bool:
        """Return True if a function takes `state`."""
        functions = cls._functions(parameters).values()
        return any("state" in inspect.signature(function).parameters for function in functions)

    def setup(self) -> None:
        """Import the functions."""
        self.functions = self._functions(self.parameters)
        self.takes = {name: tuple(inspect.signature(f).parameters) for name, f in self.functions.items()}
        self.pure = not any("state" in self.takes.get(name, ()) for name in ("function", "onTuple"))
        self.reset_to_initial_state()

    def code_modules(self) -> tuple[str, ...]:
        """Return the modules of the functions."""
        return tuple(function.__module__ for function in self.functions.values())

    def reset_to_initial_state(self) -> None:
        """Set the state to the parameter's initial content."""
        self.state: dict[str, Any] = copy.deepcopy(self.parameters.state)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Call `function`, or `onTuple` for every tuple."""
        if "onTuple" in self.functions:
            self._call_for_tuples(port, batch)
        else:
            self._call("function", port, batch)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Call `onPunctuation`. Without it, forward a window marker to all output ports."""
        if "onPunctuation" in self.functions:
            self._call("onPunctuation", port, mark)
        elif mark is Punctuation.WINDOW:
            for output in range(len(self.context.outputs)):
                self.punctuate(mark, output)

    def _arguments(self, parameter: str, port: int) -> dict[str, Any]:
        known = {"port": port, "state": self.state, "arguments": self.parameters.arguments}
        known["metrics"] = self.context.metrics
        return {name: known[name] for name in self.takes[parameter] if name in known}

    def _call(self, parameter: str, port: int, item: TupleBatch | Punctuation) -> None:
        arguments = self._arguments(parameter, port)
        if _ITEMS[parameter] in self.takes[parameter]:
            arguments[_ITEMS[parameter]] = item
        for output, part in _outputs(self.functions[parameter](**arguments), parameter):
            if isinstance(part, Punctuation):
                self.punctuate(part, output)
            else:
                self.submit(as_batch(part, self.context, output), output)

    def _call_for_tuples(self, port: int, batch: TupleBatch) -> None:
        function, outputs = self.functions["onTuple"], TupleOutputs(self)
        arguments, wanted = self._arguments("onTuple", port), "values" in self.takes["onTuple"]
        position = 0
        try:
            for position, values in enumerate(batch.to_pylist()):
                if wanted:
                    arguments["values"] = values
                result = function(**arguments)
                if type(result) is dict:
                    outputs.add(position, 0, result)
                else:
                    for output, part in _outputs(result, "onTuple"):
                        outputs.add(position, output, part)
        except TupleError:
            raise
        except Exception as error:
            raise TupleError(position) from error
        outputs.submit()

    def checkpoint(self) -> State:
        """Return the state of the functions."""
        # an empty state is not stored, but differs here from the parameter's initial content
        return self.state or ({_EMPTIED: True} if self.parameters.state else {})

    def restore(self, state: State) -> None:
        """Restore the functions' state."""
        self.state = {name: value for name, value in state.items() if name != _EMPTIED}


def _outputs(result: Any, parameter: str) -> Iterator[tuple[int, Any]]:
    """Yield the parts of a function's result with their output ports."""
    kinds = (Mapping, Punctuation) if parameter == "onTuple" else (TupleBatch, Mapping, Punctuation)
    wanted = f"{parameter} of Custom {_WANTED[parameter]}, or returns None"
    for part in parts_of(result, (*kinds, tuple), wanted):
        if not isinstance(part, tuple):
            yield 0, part
        elif len(part) == 2 and isinstance(part[0], int) and isinstance(part[1], kinds):
            yield part
        else:
            message = f"it gave {described(part)}; {wanted}"
            raise ResultError(message)


def _function(name: str, parameter: str) -> Callable[..., Any]:
    try:
        imported = import_name(name)
    except ValueError as error:
        message = f"{parameter}: {error}"
        raise ValueError(message) from error
    if isinstance(imported, type) and issubclass(imported, FunctionOperator):
        message = f"{parameter}: {name} is an operator itself; name it as the invocation's `operator`"
        raise ValueError(message)
    if not callable(imported):
        message = f"{parameter}: {name} is no function"
        raise ValueError(message)
    known = (_ITEMS[parameter], *_NAMES)
    for argument in inspect.signature(imported).parameters:
        if argument not in known:
            message = f"{parameter}: {name} takes {argument}; there is only {', '.join(known)}"
            raise ValueError(message)
    return imported
