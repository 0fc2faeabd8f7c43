"""Custom: calls Python functions of the application, or runs logic in SPL."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import Field

from streams_orchestration.operators.contract.function import FunctionOperator, as_batch
from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Parameters, Punctuation
from streams_orchestration.operators.contract.results import described, parts_of
from streams_orchestration.operators.errors.errors import ResultError, TupleError
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.implementations.implementation import NO_WATERMARK, import_name
from streams_orchestration.operators.logic.program import LogicProgram, SplLogic, state_signature
from streams_orchestration.operators.standard.transformation.custom_timers import CustomTimers
from streams_orchestration.operators.standard.transformation.tuple_outputs import TupleOutputs
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch

_EMPTIED = "@emptied"
_TIMERS = "@timers"
_SHARED = ("state", "arguments", "metrics")
_TAKEN = {
    "function": ("batch", "port", *_SHARED, "watermark", "timers"),
    "onTuple": ("values", "port", *_SHARED, "watermark", "timers"),
    "onPunctuation": ("mark", "port", *_SHARED),
    "onWatermark": ("watermark", *_SHARED, "timers"),
    "onTimer": ("key", "time", "name", *_SHARED, "watermark", "timers"),
}
"""Maps each function parameter to the arguments that its function may take."""
_PAIRS = "marks, or pairs of an output port and one of these"
_BATCHES = f"returns or yields TupleBatches, columns by attribute, {_PAIRS}"
_TUPLES = f"returns or yields tuples, each a dictionary of its values by attribute, {_PAIRS}"


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
    on_watermark: str | None = Field(
        default=None,
        alias="onWatermark",
        description="Function package.module:name that is called for every step of the watermark.",
    )
    on_timer: str | None = Field(
        default=None,
        alias="onTimer",
        description="Function package.module:name that is called for every timer that the watermark reaches.",
    )
    state: dict[str, Any] = Field(default_factory=dict, description="Initial content of `state`.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Values that the functions get as `arguments`.")

    spl: SplLogic | None = Field(
        default=None, description="Logic in SPL, instead of Python functions: state, onTuple, onPunct, functions."
    )

    def _faults(self) -> Iterator[str]:
        if self.spl is not None:
            if self.functions:
                yield "spl replaces the Python functions; leave out either spl or the functions"
            return
        if (self.function is None) == (self.on_tuple is None):
            yield "one of the parameters function (for batches), onTuple and spl is expected"

    @property
    def functions(self) -> dict[str, str]:
        """The names of the functions by parameter."""
        names = (self.function, self.on_tuple, self.on_punctuation, self.on_watermark, self.on_timer)
        return {parameter: name for parameter, name in zip(_TAKEN, names, strict=True) if name is not None}


class Custom(Operator):
    """Calls functions for batches, tuples, marks, steps of the watermark and timers.

    A function names the arguments that it takes: `batch`, `values` or `mark`; `port`, `state`, `arguments`, `metrics`,
    and in an event-time graph `watermark` and `timers`. `onTimer` has `key`, `time` and `name`, too.

    It returns or yields output: batches or columns by attribute for output port 0, pairs of a port and one of these for
    any port, or marks. `onTuple` takes the values of one tuple by attribute, and returns tuples in this form; then
    `onWatermark` and `onTimer` return tuples in this form, too. `state` is a dictionary of state parts, checkpointed.
    `timers[key] = time` sets a timer, `del timers[key]` deletes it, and `timers["name"][key]` is a timer with a name.
    Without `onPunctuation`, window markers are passed on to all output ports. Logic in SPL replaces all functions; it
    passes no marker on.
    """

    Parameters = CustomParameters
    naming_parameters = NamingParameters()
    stateful = True
    free_parameters = frozenset(("state", "spl"))
    own_timers: CustomTimers | None = None
    """The timers that the functions set; None if no function takes `timers`."""

    @classmethod
    def check(cls, context: OperatorContext, parameters: CustomParameters) -> None:
        """Raise ValueError if a function is missing or takes wrong arguments, or the state or SPL is wrong."""
        if parameters.spl is not None:
            LogicProgram(context, parameters.spl, submits=True)
            return
        _check_timers(cls._functions(parameters))
        try:
            json.dumps(parameters.state)
        except TypeError as error:
            message = f"state: {error}"
            raise ValueError(message) from error

    @classmethod
    def _functions(cls, parameters: CustomParameters) -> dict[str, Callable[..., Any]]:
        return {parameter: _function(name, parameter) for parameter, name in parameters.functions.items()}

    @classmethod
    def has_state(cls, parameters: CustomParameters) -> bool:
        """Return True if a function takes `state` or `timers`, or the logic in SPL has variables.

        Raises:
            ValueError: a function cannot be imported, or takes an argument that it cannot get.
        """
        if parameters.spl is not None:
            return bool(parameters.spl.state.spl)
        functions = cls._functions(parameters)
        return any(_takes(function, "state", "timers") for function in functions.values())

    @classmethod
    def keeps_state(cls, before: CustomParameters, after: CustomParameters) -> bool:
        """Return True if only the content of `state` or `spl` differs, and logic has the same variables as before.

        Functions cannot replace logic, nor logic functions.
        """
        same = state_signature(before.spl) == state_signature(after.spl)
        return same and (before.spl is None) == (after.spl is None) and super().keeps_state(before, after)

    def setup(self) -> None:
        """Import the functions, or compile the logic, and begin with the initial state."""
        self.logic = (
            None if self.parameters.spl is None else LogicProgram(self.context, self.parameters.spl, submits=True)
        )
        if self.logic is not None:
            self.logic.begin()
            return
        self.functions = self._functions(self.parameters)
        self.takes = {name: tuple(inspect.signature(f).parameters) for name, f in self.functions.items()}
        called = self.functions.get("function") or self.functions["onTuple"]
        self.pure = not _takes(called, "state", "timers")
        self.has_timers = any("timers" in names for names in self.takes.values())
        role = self.context.event_time
        if (self.has_timers or "onWatermark" in self.functions) and (role is None or not role.ports):
            message = NO_WATERMARK.format("it has onTimer" if self.has_timers else "it has onWatermark")
            raise ResultError(message)
        self.state: dict[str, Any] = copy.deepcopy(self.parameters.state)
        self.own_timers = CustomTimers(self.event_time) if self.has_timers and self.event_time is not None else None

    def code_modules(self) -> tuple[str, ...]:
        """Return the modules of the functions; none for logic in SPL."""
        return () if self.logic is not None else tuple(each.__module__ for each in self.functions.values())

    def process(self, port: int, batch: TupleBatch) -> None:
        """Call `function`, or `onTuple` for every tuple, or run the logic in SPL; submit the results."""
        if self.logic is not None:
            outputs, _ = self.logic.tuples(port, batch)
            self.logic.submit(self, outputs)
            return
        if "onTuple" in self.functions:
            self._call_for_tuples(port, batch)
        else:
            self._call("function", port=port, batch=batch)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Call `onPunctuation`, or run the logic in SPL. Without both, forward a window marker to all output ports."""
        if self.logic is not None:
            self.logic.submit(self, self.logic.mark(port, mark))
            return
        if "onPunctuation" in self.functions:
            self._call("onPunctuation", port=port, mark=mark)
        elif mark is Punctuation.WINDOW:
            for output in range(len(self.context.outputs)):
                self.punctuate(mark, output)

    def on_watermark(self, watermark: int) -> None:
        """Call `onTimer` for every timer that the watermark reaches, and `onWatermark`; submit the results.

        Timers that `onWatermark` sets fire too, if the watermark has reached them. Logic in SPL gets no watermark.
        """
        if self.logic is not None:
            return
        outputs = TupleOutputs(self) if "onTuple" in self.functions else None
        self._fire(watermark, outputs)
        if "onWatermark" in self.functions:
            self._call("onWatermark", outputs)
            self._fire(watermark, outputs)
        if outputs is not None:
            outputs.submit()

    def _fire(self, watermark: int, outputs: TupleOutputs | None) -> None:
        if self.own_timers is not None:
            for name, key, time in self.own_timers.expire(watermark):
                self._call("onTimer", outputs, name=name, key=key, time=time)

    def _arguments(self, parameter: str, **items: Any) -> dict[str, Any]:
        """Return the arguments that a function takes, including arguments of this call only, such as the batch."""
        known = items | {"state": self.state, "arguments": self.parameters.arguments, "metrics": self.context.metrics}
        if "watermark" in self.takes[parameter]:
            ticks = self.context.watermark
            known["watermark"] = None if ticks is None or self.event_time is None else self.event_time.to_value(ticks)
        known["timers"] = self.own_timers
        return {name: known[name] for name in self.takes[parameter]}

    def _call(self, parameter: str, tuples: TupleOutputs | None = None, **items: Any) -> None:
        """Call a function and submit its results. If `tuples` is given, add the resulting tuples there instead."""
        result = self.functions[parameter](**self._arguments(parameter, **items))
        for output, part in _outputs(result, parameter, tuplewise=tuples is not None):
            if tuples is not None:
                tuples.add(0, output, part)
            elif isinstance(part, Punctuation):
                self.punctuate(part, output)
            else:
                self.submit(as_batch(part, self.context, output), output)

    def _call_for_tuples(self, port: int, batch: TupleBatch) -> None:
        function, outputs = self.functions["onTuple"], TupleOutputs(self)
        arguments = self._arguments("onTuple", port=port, values=None)
        wanted = "values" in self.takes["onTuple"]
        position = 0
        try:
            for position, values in enumerate(batch.to_pylist()):
                if wanted:
                    arguments["values"] = values
                result = function(**arguments)
                if type(result) is dict:
                    outputs.add(position, 0, result)
                else:
                    for output, part in _outputs(result, "onTuple", tuplewise=True):
                        outputs.add(position, output, part)
        except TupleError:
            raise
        except Exception as error:
            raise TupleError(position) from error
        outputs.submit()

    def checkpoint(self) -> State:
        """Return the state of the functions, and the timers; or the variables of the logic."""
        if self.logic is not None:
            return self.logic.checkpoint()
        # an empty state is not stored, but differs here from the parameter's initial content
        state = self.state or ({_EMPTIED: True} if self.parameters.state else {})
        return state if self.own_timers is None else {**state, _TIMERS: self.own_timers.checkpoint()}

    def restore(self, state: State) -> None:
        """Restore the functions' state, and the timers; or the variables of the logic."""
        if self.logic is not None:
            self.logic.restore(state)
            return
        self.state = {name: value for name, value in state.items() if name not in (_EMPTIED, _TIMERS)}
        if self.own_timers is not None and _TIMERS in state:
            self.own_timers.restore(state[_TIMERS])


def _takes(function: Callable[..., Any], *arguments: str) -> bool:
    """Return True if a function has a parameter with one of the given names."""
    return not set(arguments).isdisjoint(inspect.signature(function).parameters)


def _check_timers(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Raise ValueError if timers would fire without effect, or none would ever be set."""
    setting = [parameter for parameter, function in functions.items() if _takes(function, "timers")]
    if setting and "onTimer" not in functions:
        message = f"{setting[0]}: its function takes timers, but there is no onTimer that is called when one fires"
        raise ValueError(message)
    if "onTimer" in functions and not set(setting) - {"onTimer"}:
        message = "onTimer: no other function takes `timers`, so no timer is ever set"
        raise ValueError(message)


def _outputs(result: Any, parameter: str, *, tuplewise: bool) -> Iterator[tuple[int, Any]]:
    """Yield the parts of a function's result with their output ports."""
    kinds = (Mapping, Punctuation) if tuplewise else (TupleBatch, Mapping, Punctuation)
    wanted = f"{parameter} of Custom {_TUPLES if tuplewise else _BATCHES}, or returns None"
    for part in parts_of(result, (*kinds, tuple), wanted):
        if not isinstance(part, tuple):
            yield 0, part
        elif len(part) == 2 and isinstance(part[0], int) and isinstance(part[1], kinds):
            yield part
        else:
            message = f"it returned {described(part)}; {wanted}"
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
        message = f"{parameter}: {name} is not a function"
        raise ValueError(message)
    for argument in inspect.signature(imported).parameters:
        if argument not in _TAKEN[parameter]:
            message = f"{parameter}: {name} takes {argument}, but can take only {', '.join(_TAKEN[parameter])}"
            raise ValueError(message)
    return imported
