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
    """Say what state is kept and what a redeploy does to it; nothing for an operator that cannot run."""
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
        yield Fact("it keeps none, so a redeploy loses none")
        return
    what = "its offset" if issubclass(kind, SourceOperator) else "its state"
    known = f"its uid {model.uid}" if model.uid else f"its full name {model.name}; with a uid it could get another name"
    yield Fact(f"{what} is kept in other PEs and on other hosts; a redeploy knows it by {known}")
    levels = Feeds(lookup.logical).levels(model.index)
    for place in range(len(levels)):
        yield Fact(f"when the width of {levels[place].region} changes {_divided(model, program, kind, levels, place)}")
    yield Fact(f"left out of the spec it loses that: {GONE}. {remedy_of_gone(model.identity, model.name)}")


def _program(lookup: CompilationIndex, operator: int) -> OperatorProgram | None:
    plan = lookup.compilation.deployment
    programs = () if plan is None else plan.programs
    return next((each.operators[operator] for each in programs if operator in each.operators), None)


def _divided(
    model: LogicalOperator, program: OperatorProgram, kind: type[Operator], levels: tuple[Level, ...], place: int
) -> str:
    """Say what a change of one width would do to the state, in the words of a preview."""
    if reads_by_channel(model.parameters, kind):
        last = refusal(model.name, OFFSET_WITHOUT_CHANNEL.format("the last one"), CHANNELS)
        return f"to more channels, each goes on from its own; to fewer, {last.text}. {last.remedy}"
    wider = tuple(level._replace(width=max(level.width, 2)) for level in levels)
    reason = divisible(sharding_of(program, kind), wider, wider, (place,))
    if reason:
        refused = refusal(model.name, reason, f"parallel region {levels[place].region}")
        return f"it cannot be kept: {refused.text}. {refused.remedy}"
    return "it is divided anew"
