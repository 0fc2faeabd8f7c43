"""The rules for dividing an operator's state among other channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from streams_orchestration.compiler.pe_program import OperatorProgram
from streams_orchestration.compiler.redeployment.feeds import Level
from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.states.rescaling import NO_KEYS, Sharding


def sharding_of(
    program: OperatorProgram, kind: type[Operator], stored: Mapping[str, tuple[str, ...]] | None = None
) -> Sharding:
    """Return the operator's own rules for dividing its state; a refusal if its parameters are invalid.

    Args:
        program: the program of one of its channels.
        kind: the class of the operator.
        stored: the keys of the parts of a stored state, by their names. If the class has no rules and each part has
            keys, the state is divided by the keys that all parts have.
    """
    context = OperatorContext.declared(program.name, program.inputs, program.outputs, time_zone=program.time_zone)
    try:
        sharding = kind.sharding(context, kind.Parameters.model_validate(program.parameters))
    except ValidationError as error:
        return Sharding(refusal=f"cannot be divided under these parameters: {error}")
    if sharding.refusal != NO_KEYS or not stored or not all(stored.values()):
        return sharding
    first, *others = stored.values()
    return Sharding(keys=(tuple(name for name in first if all(name in other for other in others)),))


def divisible(sharding: Sharding, old: Sequence[Level], new: Sequence[Level], changed: Sequence[int]) -> str:
    """Return why a state cannot be divided among the channels of a new plan; empty if it can.

    Args:
        sharding: the operator's own rules.
        old: the deployed regions around the operator.
        new: the wanted regions around the operator.
        changed: the regions with another width or another feed.
    """
    if sharding.refusal or sharding.anyhow:
        return sharding.refusal
    for levels in (old, new):
        for level in (levels[place] for place in changed if place < len(levels)):
            if level.width > 1 and (reason := _undecided(sharding, level)):
                return reason
    return ""


def _undecided(sharding: Sharding, level: Level) -> str:
    """Return why no key of the state decides the channel of a tuple in a region; empty if one does."""
    for port, feeds in enumerate(level.ports):
        if not feeds:
            continue
        if len(feeds) > 1:
            return f"is made of streams that are split in different ways in front of {level.region}"
        feed = next(iter(feeds))
        match feed.kind:
            case "roundRobin":
                return f"may have a key in several channels, since {level.region} is split round robin"
            case "broadcast":
                return f"is in every channel of {level.region}, since input port {port} gets all tuples"
            case "source" | "import":
                return f"is made of tuples that come into {level.region} without being split by a key"
            case "hash":
                if not sharding.holds(port, feed.attributes):
                    attributes = ", ".join(feed.attributes)
                    return f"has keys without {attributes}, by which {level.region} is split"
    return ""
