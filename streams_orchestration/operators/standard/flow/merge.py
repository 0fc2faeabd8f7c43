"""Merge: merges several sorted streams into one sorted stream."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Parameters, Punctuation
from streams_orchestration.operators.errors.errors import check_attributes
from streams_orchestration.operators.event_time.times import least_time
from streams_orchestration.operators.expressions.assignments import assignments_of_ports
from streams_orchestration.operators.expressions.mentioned_attributes import Mentions
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.windows.clause import Policy

_VALUE = "@value"
"""The column of a waiting tuple that holds its sort value. No attribute can have this name."""


class MergeParameters(Parameters):
    """The parameters of `Merge`."""

    order_by: str | list[str] = Field(
        min_length=1,
        alias="orderBy",
        description=("Number or timestamp attribute by which every stream ascends, or a list with one for each port."),
    )

    def policies(self, schemas: tuple[pa.Schema, ...]) -> list[Policy]:
        """Return the policy that reads the sort value of each port.

        Raises:
            ValueError: `orderBy` has not one attribute for each port, a stream lacks its attribute, or types differ.
        """
        names = [self.order_by] * len(schemas) if isinstance(self.order_by, str) else self.order_by
        if len(names) != len(schemas):
            message = f"orderBy: one attribute for each of the {len(schemas)} input ports is expected"
            raise ValueError(message)
        policies: list[Policy] = []
        for port, (name, schema) in enumerate(zip(names, schemas, strict=True)):
            check_attributes("orderBy", [name], schema.names, f"input port {port}")
            policies.append(Policy("delta", 0, name).resolved(schema, None, "orderBy"))
            if schema.field(name).type != schemas[0].field(names[0]).type:
                kinds = [type_name(each) for each in (schema.field(name).type, schemas[0].field(names[0]).type)]
                message = (
                    f"orderBy: {name} of input port {port} is {kinds[0]}, but {names[0]} of input port 0 is {kinds[1]}"
                )
                raise ValueError(message)
        return policies


class Merge(Operator):
    """Merges sorted streams. It submits a tuple once no other port can deliver an earlier one.

    Of equal tuples, the one of the lower port is first. So the result does not depend on which stream is read first,
    but a stream without tuples delays the others until the end. A tuple that is out of order within its own stream
    stays after the tuples before it.
    """

    heeds_marks = False
    Parameters = MergeParameters
    stateful = True
    indivisible = "is tuples of one channel that wait for tuples of other ports"

    @classmethod
    def mentions(cls, parameters: MergeParameters) -> Mentions | None:
        """Return the attribute if all ports use the same one, else None."""
        return Mentions(inputs=(parameters.order_by,)) if isinstance(parameters.order_by, str) else None

    @classmethod
    def check(cls, context: OperatorContext, parameters: MergeParameters) -> None:
        """Raise ValueError if the streams do not fit each other or the output."""
        parameters.policies(context.inputs)
        assignments_of_ports(context.inputs, context.outputs[0], context.zone)

    def setup(self) -> None:
        """Prepare an empty queue for the tuples of each port."""
        inputs, output = self.context.inputs, self.context.outputs[0]
        self.policies = self.parameters.policies(inputs)
        self.ports = assignments_of_ports(inputs, output, self.context.zone)
        kind = self.policies[0].value_type(inputs[0])
        target = output or inputs[0]
        self.logs = [TupleLog(target.append(pa.field(_VALUE, kind))) for _ in inputs]
        self.reached: list[Any] = [None] * len(inputs)
        """The largest sort value of each port so far."""

    def process(self, port: int, batch: TupleBatch) -> None:
        """Queue the tuples, and submit the waiting tuples that no later tuple can precede."""
        values = self.policies[port].values(batch.arrow)
        if not len(values):
            return
        values = np.maximum.accumulate(values if self.reached[port] is None else np.maximum(values, self.reached[port]))
        self.reached[port] = values[-1].item()
        tuples = self.ports[port].apply(batch.arrow).arrow
        log = self.logs[port]
        log.append(tuples.append_column(log.schema.field(_VALUE), pa.array(values)))
        if None not in self.reached:
            self._release(min(zip(self.reached, range(len(self.logs)), strict=True)))

    def _release(self, until: tuple[Any, int] | None) -> None:
        """Submit and remove the waiting tuples up to a value and port, inclusive; all of them if `until` is None."""
        parts: list[pa.RecordBatch] = []
        ports: list[np.ndarray] = []
        for port, log in enumerate(self.logs):
            places = log.places()
            tuples = log.take(places)
            count = len(places)
            if until is not None:
                side = "right" if port <= until[1] else "left"
                count = int(np.searchsorted(tuples.column(_VALUE).to_numpy(), until[0], side))
            log.remove(places[:count])
            parts.append(tuples.slice(0, count))
            ports.append(np.full(count, port))
        together = pa.concat_batches(parts)
        order = np.lexsort((np.concatenate(ports), together.column(_VALUE).to_numpy()))
        self.submit(TupleBatch(together.take(pa.array(order)).select(together.schema.names[:-1])))

    def held(self) -> int | None:
        """Return the least event time of a waiting tuple in ticks; None if none waits."""
        times = (least_time(log.take(log.places()), self.context.event_time) for log in self.logs)
        return min((time for time in times if time is not None), default=None)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Submit all waiting tuples at the final mark of the last port, which comes after all others; then reset."""
        if mark is Punctuation.FINAL and port == len(self.logs) - 1:
            self._release(None)
            for log in self.logs:
                log.clear()
            self.reached = [None] * len(self.logs)

    def checkpoint(self) -> State:
        """Return the waiting tuples, and the largest sort value of each port."""
        return {f"port {port}": log for port, log in enumerate(self.logs)} | {"reached": list(self.reached)}

    def restore(self, state: State) -> None:
        """Restore the waiting tuples, and the largest sort value of each port."""
        self.logs = [state[f"port {port}"] for port in range(len(self.logs))]
        self.reached = list(state["reached"])
