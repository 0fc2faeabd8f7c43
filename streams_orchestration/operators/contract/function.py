"""`@operator`: makes an operator from a function of a batch, for operators without state and without marks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, overload

from streams_orchestration.model.operators import InputPortModel, OperatorModel, OutputPortModel
from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Parameters
from streams_orchestration.operators.contract.results import check_port, parts_of
from streams_orchestration.operators.errors.errors import ResultError
from streams_orchestration.operators.event_time.calling import call_between
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Watermarks

Columns = Mapping[str, Any]
"""Maps attributes to values, which are cast to the output stream's schema."""
Function = Callable[..., Any]
"""A function of a batch, optionally of the parameters and `metrics`. It returns a batch, columns, an iterable or None.
"""

METRICS = "metrics"
"""The name of the argument that receives the metrics."""
_WANTED = "a function with @operator returns or yields TupleBatches, or columns by attribute, or returns None"


class FunctionOperator(Operator):
    """An operator that calls a function with every batch and submits its results to output port 0."""

    pure = True
    function: ClassVar[Function]
    """The user's function. It receives the batch, and the parameters and metrics if its signature has them."""

    def setup(self) -> None:
        """Determine from the function's signature its arguments, and whether it gets batches with watermarks."""
        offered = {METRICS: self.context.metrics}
        self.arguments = [offered.get(name, self.parameters) for name in _further_arguments(self.function)]

        self.keeps_places = METRICS not in _further_arguments(self.function)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Call the function with the batch, and submit its result.

        A function that returns its tuples, or a part of them by `filter`, `slice` or `take`, gets whole batches with
        their watermarks. If the function makes new batches, it is called again, from then on for the tuples between two
        watermarks, since nothing says which of its tuples come after a watermark. A batch of watermarks without tuples
        does not reach the function.
        """
        if batch.watermarks is None:
            for part in self._parts(self.function(batch, *self.arguments)):
                self.submit(as_batch(part, self.context))
            return
        if not len(batch):
            return
        given, mutable = batch.arrow, batch.mutable
        result = self.function(batch, *self.arguments)
        if not isinstance(result, TupleBatch):
            parts = list(self._parts(result))
            result = parts[0] if len(parts) == 1 else None
            if not parts:
                return
        if isinstance(result, TupleBatch) and result.watermarks is not None:
            self.submit(result)
            return
        self.keeps_places = False
        again = TupleBatch(given, mutable=mutable, watermarks=batch.watermarks)
        call_between(again, lambda tuples: self.process(port, tuples), self._pass_on)

    @staticmethod
    def _parts(result: Any) -> Iterator[Any]:
        return parts_of(result, (TupleBatch, Mapping), _WANTED)

    def _pass_on(self, steps: Watermarks) -> None:
        role = self.context.event_time
        if role is not None and 0 in role.outputs:
            self.submit(TupleBatch.bearing(steps, self.context.output_schema()))


@overload
def operator(function: Function) -> type[FunctionOperator]: ...


@overload
def operator(
    *,
    parameters: type[Parameters] = ...,
    mutable: bool = ...,
    mutates: tuple[str, ...] | None = ...,
    preserves_window_punctuation: bool = ...,
) -> Callable[[Function], type[FunctionOperator]]: ...


def operator(
    function: Function | None = None,
    *,
    parameters: type[Parameters] = Parameters,
    mutable: bool = False,
    mutates: tuple[str, ...] | None = None,
    preserves_window_punctuation: bool = False,
) -> Any:
    """Make an operator class from a function `batch -> batch | columns | iterable of these | None`.

    The class takes the function's name, so a spec names it `package.module:function`. The function itself remains
    available as the class's attribute `function`.

    Args:
        function: takes the batch, and the parameters if it has one more argument. An argument called `metrics` receives
            the operator's `Metrics`.
        parameters: class of the parameters; without one there are none.
        mutable: True if the function may write to its tuples.
        mutates: the attributes that the function writes to, if not all; implies `mutable`.
        preserves_window_punctuation: True if window marks are forwarded.

    Raises:
        TypeError: the function takes other arguments.
    """
    model = OperatorModel(
        inputs=(InputPortModel(mutable=mutable or None, mutates=mutates),),
        outputs=(OutputPortModel(mutable=True, preserves_window_punctuation=preserves_window_punctuation),),
    )

    def decorate(function: Function) -> type[FunctionOperator]:
        _further_arguments(function)
        members = {
            "__doc__": function.__doc__,
            "__module__": function.__module__,
            "__qualname__": function.__qualname__,
            "Parameters": parameters,
            "model": model,
            "function": staticmethod(function),
        }
        return type(function.__name__, (FunctionOperator,), members)

    return decorate if function is None else decorate(function)


def as_batch(part: TupleBatch | Columns, context: OperatorContext, port: int = 0) -> TupleBatch:
    """Return a part of a function's result as a batch for an output port.

    Raises:
        ResultError: the columns differ from the attributes of the output stream, or the port or its schema does not
            exist.
        DataError: a value does not fit its type.
    """
    if isinstance(part, TupleBatch):
        return part
    return TupleBatch.from_columns(part, schema_for(part, context, port))


def schema_for(part: Mapping[str, Any], context: OperatorContext, port: int) -> pa.Schema:
    """Return the schema of an output port, after checking that it has the given attributes.

    Raises:
        ResultError: the attributes differ from the schema, or the port or its schema does not exist.
    """
    check_port(port, context.outputs)
    try:
        schema = context.output_schema(port)
    except ValueError as error:
        raise ResultError(str(error)) from None
    if part.keys() != set(schema.names):
        gave = ", ".join(map(str, part)) or "none"
        message = f"the output stream has the attributes {', '.join(schema.names)}, but the function returned {gave}"
        raise ResultError(message)
    return schema


def _further_arguments(function: Function) -> list[str]:
    """Return the names of the function's arguments after the batch."""
    names = list(inspect.signature(function).parameters)
    if not names or names[0] == METRICS or len([name for name in names[1:] if name != METRICS]) > 1:
        message = (
            f"{function.__qualname__}: an operator's function must take a batch, optionally the parameters, and "
            f"optionally the metrics as `{METRICS}`"
        )
        raise TypeError(message)
    return names[1:]
