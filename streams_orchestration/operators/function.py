"""`@operator`: a function of a batch as an operator, for what needs no state and no marks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, overload

from streams_orchestration.model.operators import InputPortModel, OperatorModel, OutputPortModel
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Parameters
from streams_orchestration.operators.errors import DataError

Columns = Mapping[str, Any]
"""Attribute -> values; cast to the output stream's schema."""
Function = Callable[..., Any]
"""Of a batch, and of the parameters and `metrics` if it wants them; gives a batch, columns, an iterable, or None."""


METRICS = "metrics"
"""The argument that gets the metrics."""


class FunctionOperator(Operator):
    """Calls a function with every batch and submits what it gives to output port 0."""

    pure = True
    function: ClassVar[Function]
    """Called with the batch, and with the parameters and the metrics where it takes them."""

    def setup(self) -> None:
        """Find out what the function takes."""
        given = {METRICS: self.context.metrics}
        self.arguments = [given.get(name, self.parameters) for name in _further_arguments(self.function)]

    def process(self, port: int, batch: TupleBatch) -> None:
        """Call the function."""
        result = self.function(batch, *self.arguments)
        for part in _parts(result):
            self.submit(as_batch(part, self.context))


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
    """Make an operator class of a function `batch -> batch | columns | iterable of these | None`.

    The class takes the function's name, so that a spec names `package.module:function`; the function itself stays at
    hand as the class's `function`.

    Args:
        function: of the batch, and of the parameters if it takes one argument more; one that is called `metrics` gets
            the operator's `Metrics`.
        parameters: class of the parameters; without one there are none.
        mutable: may it write to its tuples.
        mutates: the attributes that it writes to, if not all; implies mutable.
        preserves_window_punctuation: do window markers pass.

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
    """What a function gave as tuples of an output port.

    Raises:
        DataError: columns, but others than those of the output stream.
        ValueError: columns, but the output stream has no schema.
        TypeError: something else.
    """
    if isinstance(part, TupleBatch):
        return part
    if not isinstance(part, Mapping):
        message = f"a function gives batches, or columns by attribute, not {type(part).__name__}"
        raise TypeError(message)
    schema = context.outputs[port]
    if schema is None:
        message = "the output stream needs a schema: outputs: [{stream: Name, schema: Type}]"
        raise ValueError(message)
    if set(part) != set(schema.names):
        message = f"the output stream has the attributes {', '.join(schema.names)}, the function gave {', '.join(part)}"
        raise DataError(message)
    return TupleBatch.from_columns(part, schema)


def _parts(result: Any) -> Iterable[TupleBatch | Columns]:
    if result is None:
        return ()
    return (result,) if isinstance(result, TupleBatch | Mapping) else result


def _further_arguments(function: Function) -> list[str]:
    """The names of the arguments behind the batch."""
    names = list(inspect.signature(function).parameters)
    if not names or names[0] == METRICS or len([name for name in names[1:] if name != METRICS]) > 1:
        message = (
            f"{function.__qualname__}: an operator's function takes a batch, and if it wants them the parameters, "
            f"and the metrics as `{METRICS}`"
        )
        raise TypeError(message)
    return names[1:]
