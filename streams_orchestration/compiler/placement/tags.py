"""Tags of colocation and exlocation, resolved for a replica (rules 32, 46, 47, 49)."""

from __future__ import annotations

from streams_orchestration.compiler.logical_graph import Tag
from streams_orchestration.compiler.parallel.intrinsics import substitute_channels
from streams_orchestration.compiler.physical_graph import PhysicalOperator


def resolve_text(text: str, operator: PhysicalOperator) -> str:
    """Return a tag or host name with the channel functions replaced, and then without spaces (rules 32, 37)."""
    return str(substitute_channels(text, operator)).replace(" ", "") if "${" in text else text


def resolve_tag(tag: Tag, operator: PhysicalOperator) -> str:
    """Return the tag of one replica.

    `byChannel()` names the channel at the nesting level of the operator that has the config, or the outermost one if
    the config is outside of all regions. `byReplica()` names no channel, nor does `byChannel()` outside of regions.
    """
    match tag.kind:
        case "plain":
            return resolve_text(tag.text, operator)
        case "byReplica":
            return tag.text
        case "byChannel":
            if not operator.channels:
                return tag.text
            level = min(max(tag.level, 0), len(operator.channels) - 1)
            return f"{tag.text}_{operator.channels[level]}"
