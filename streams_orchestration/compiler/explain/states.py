"""Explanations of an operator's state and of its fate in a redeploy."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from streams_orchestration.compiler.explain.explanation import Fact
from streams_orchestration.compiler.explain.lookup import CompilationIndex
from streams_orchestration.compiler.implementations import load_operator
from streams_orchestration.compiler.logical_graph import LogicalOperator
from streams_orchestration.compiler.pe_program import OperatorProgram
from streams_orchestration.compiler.redeployment.feeds import Feeds, Level
from streams_orchestration.compiler.redeployment.sharding import divisible, sharding_of
from streams_orchestration.compiler.redeployment.states import (
    CHANNELS,
    GONE,
    OFFSET_WITHOUT_CHANNEL,
    reads_by_channel,
    refusal,
    remedy_of_gone,
)
from streams_orchestration.operators.contract import Operator, SourceOperator


def state_facts(lookup: CompilationIndex, operator: int) -> Iterator[Fact]:
    """Explain which state an operator keeps, and the effect of a redeploy on it.

    An operator that cannot run has none.
    """
    program = _program(lookup, operator)
    if program is None:
        return
    model = lookup.model(operator)
    kind = load_operator(model)
    try:
        parameters = kind.Parameters.model_validate(program.parameters)
    except ValidationError:
        return
    if not kind.has_state(parameters):
        yield Fact("it keeps no state, so a redeploy loses none")
        return
    what = "its offset" if issubclass(kind, SourceOperator) else "its state"
    known = f"its uid {model.uid}" if model.uid else f"its full name {model.name}; set a uid before you rename it"
    yield Fact(f"a redeploy keeps {what}, also in another PE or on another host, and finds the operator by {known}")
    levels = Feeds(lookup.logical).levels(model.index)
    for place in range(len(levels)):
        yield Fact(f"if the width of {levels[place].region} changes, {_divided(model, program, kind, levels, place)}")
    yield Fact(f"if the operator is removed, {what} is lost: {GONE}. {remedy_of_gone(model.identity, model.name)}")


def _program(lookup: CompilationIndex, operator: int) -> OperatorProgram | None:
    plan = lookup.compilation.deployment
    programs = () if plan is None else plan.programs
    return next((each.operators[operator] for each in programs if operator in each.operators), None)


def _divided(
    model: LogicalOperator, program: OperatorProgram, kind: type[Operator], levels: tuple[Level, ...], place: int
) -> str:
    """Explain the effect of a changed width on the state, in the words of a preview."""
    if reads_by_channel(model.parameters, kind):
        last = refusal(model.name, OFFSET_WITHOUT_CHANNEL.format("the last one"), CHANNELS)
        return f"each channel continues from its own offset; with fewer channels, {last.text}. {last.remedy}"
    wider = tuple(level._replace(width=max(level.width, 2)) for level in levels)
    reason = divisible(sharding_of(program, kind), wider, wider, (place,))
    if reason:
        refused = refusal(model.name, reason, f"parallel region {levels[place].region}")
        return f"its state cannot be kept: {refused.text}. {refused.remedy}"
    return "its state is divided over the new channels"
