"""The second output port of a source, which gets a description of everything that cannot become a tuple."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from streams_orchestration.operators.contract.context import OperatorContext
from streams_orchestration.operators.contract.operator import SourceOperator
from streams_orchestration.operators.errors.errors import LOGGED, DataError
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch

OnBadTuple = Literal["fail", "drop", "stream"]


class BadTuples:
    """Handles, by `onBadTuple`, the messages or rows of a source that cannot become tuples."""

    def __init__(self, source: SourceOperator, on_bad_tuple: OnBadTuple, what: str) -> None:
        self._source, self._on_bad_tuple, self._what = source, on_bad_tuple, what
        self._count = 0

    def set_aside(self, faults: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> None:
        """Log the first `LOGGED` faults, count all, and drop their messages or rows, or submit them to port 1.

        Args:
            faults: the place of each message or row, and the reason.
            columns: the attributes that describe the messages or rows.

        Raises:
            DataError: `onBadTuple` is `fail`.
        """
        context = self._source.context
        if self._on_bad_tuple == "fail":
            message = f"{faults[0]}; with onBadTuple: drop or stream the application continues"
            raise DataError(message)
        for fault in faults[: max(LOGGED - self._count, 0)]:
            context.logger.warning("%s", fault)
        self._count += len(faults)
        if self._on_bad_tuple == "drop":
            context.metrics.dropped.add(len(faults))
            return
        about = f"{self._what} that could not become tuples, sent to the second output port"
        context.metrics.counter("bad", about).add(len(faults))
        self._source.submit(TupleBatch.from_columns(dict(columns), context.output_schema(1)), 1)


def check_bad_port(context: OperatorContext, on_bad_tuple: OnBadTuple, columns: Mapping[str, str], what: str) -> None:
    """Check that there is a second output port exactly if `onBadTuple` is `stream`, and its attributes.

    Args:
        context: the operator's context.
        on_bad_tuple: the policy.
        columns: the attributes that the port may have, with their types.
        what: the things that the port gets, as the message names them.

    Raises:
        ValueError: the port is missing, superfluous, or has another attribute.
    """
    if (on_bad_tuple == "stream") != (len(context.outputs) > 1):
        message = f"onBadTuple: stream and a second output port for {what} require each other; give both or neither"
        raise ValueError(message)
    if len(context.outputs) > 1:
        check_bad_attributes(context.outputs[1], columns)


def check_bad_attributes(schema: pa.Schema | None, columns: Mapping[str, str], instead: str = "") -> None:
    """Check the attributes of the second output port.

    Args:
        schema: the attributes of the port.
        columns: the attributes that it may have, with their types.
        instead: the end of the message, about other uses of the port.

    Raises:
        ValueError: it has another attribute.
    """
    if schema is None or any(columns.get(each.name) != type_name(each.type) for each in schema):
        known = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        message = f"the second output port may only have the attributes `{known}`{instead}"
        raise ValueError(message)
