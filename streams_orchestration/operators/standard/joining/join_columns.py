"""Checks the parameters of a Join against its streams, and compiles its expressions."""

from __future__ import annotations

from typing import NamedTuple

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.faults import reported
from streams_orchestration.operators.expressions.assignments import Assignments
from streams_orchestration.operators.expressions.constant_attributes import constants
from streams_orchestration.operators.expressions.evaluation import Expression, parse_condition
from streams_orchestration.operators.expressions.spl.types import columns_of_ports, over_ports, variable_columns
from streams_orchestration.operators.inputs.failed_tuples import check_failure_port, own_outputs
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.joining.join_parameters import SIDES, JoinParameters
from streams_orchestration.operators.standard.joining.join_side import joined_schema
from streams_orchestration.operators.tuples.arrow_types import default_value
from streams_orchestration.operators.windows.clause import Window


class CompiledJoin(NamedTuple):
    """A Join's windows and expressions, fitted to its streams."""

    windows: list[Window]
    """The window of each side; none with `within`."""
    variables: list[str]
    """The columns of joined tuples with variables of SPL logic."""
    joined: pa.Schema
    """The attributes of both streams and the variables, over which `match` and `output` are."""
    match: Expression | None
    assignments: Assignments
    absent: list[pa.RecordBatch]
    """For each side, a batch with the tuple that replaces a missing partner."""
    alone: list[Assignments | None]
    """For each side, the output of its port for unmatched tuples; None without such a port."""


def compile_join(context: OperatorContext, parameters: JoinParameters) -> CompiledJoin:
    """Check and compile the parameters.

    Raises:
        ValueError: a window, an attribute, an expression, a default tuple or an output port does not fit. If faults are
            gathered, faults of keys, partitions, default tuples and ports are reported, and nothing replaces a missing
            partner, or no side has a port of its own.
    """
    absent: list[pa.RecordBatch] = []
    alone: list[Assignments | None] = []
    with reported():
        parameters.check_equality(context.inputs)
    with reported():
        parameters.check_partitions(context.inputs)
    with reported():
        absent = _absent(context, parameters)
    with reported():
        alone = _alone(context, parameters)
    variables = variable_columns(parameters)
    target, joined = context.output_schema(), joined_schema(context, variables)
    check_failure_port(context, parameters, joined)
    zone = context.zone
    columns = columns_of_ports(context.ports, context.inputs, joined.names, variables)
    written = over_ports({} if parameters.match is None else {"match": parameters.match}, columns)
    match = parse_condition(written["match"], joined, "match", zone) if written else None
    assignments = Assignments(over_ports(parameters.output, columns), joined, target, zone, context.required_at())
    sides = enumerate(context.inputs if parameters.within is None else ())
    windows = [parameters.resolved(side, schema) for side, schema in sides]
    return CompiledJoin(windows, list(variables), joined, match, assignments, absent, alone)


def _absent(context: OperatorContext, parameters: JoinParameters) -> list[pa.RecordBatch]:
    """Return a batch for each side with the tuple that replaces a missing partner.

    Raises ValueError if `defaultTupleLHS` or `defaultTupleRHS` has a wrong attribute or value.
    """
    given = (parameters.default_tuple_lhs, parameters.default_tuple_rhs)
    tuples: list[pa.RecordBatch] = []
    for side, texts, schema in zip(SIDES, given, context.inputs, strict=True):
        values = constants(texts, schema, f"defaultTuple{side}", context.zone)
        columns: list[pa.Array] = []
        for field in schema:
            if field.name in values:
                columns.append(values[field.name])
            elif parameters.absent == "nulls":
                columns.append(pa.nulls(1, field.type))
            else:
                columns.append(pa.array([default_value(field.type)], field.type))
        tuples.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    return tuples


def _alone(context: OperatorContext, parameters: JoinParameters) -> list[Assignments | None]:
    """Return the assignments of each side's port for unmatched tuples.

    None if a side has no such port: its tuples go to port 0 with a default partner, or are dropped if it is not
    outer.
    """
    ports = len(own_outputs(context, parameters))
    if ports == 1:
        return [None, None]
    if ports != 1 + sum(parameters.outer):
        message = (
            f"algorithm: {parameters.algorithm} has {1 + sum(parameters.outer)} output ports or one, not "
            f"{ports}; ports after the first one get the unmatched tuples of a side"
        )
        raise ValueError(message)
    outputs: list[Assignments | None] = []
    for side, schema in enumerate(context.inputs):
        port = parameters.alone(side)
        outputs.append(
            Assignments({}, schema, context.output_schema(port), context.zone, context.required_at(port))
            if parameters.outer[side]
            else None
        )
    return outputs
