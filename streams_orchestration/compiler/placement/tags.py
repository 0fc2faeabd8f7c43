"""Tags of colocation and exlocation, as they read on one replica (rules 32, 46, 47, 49)."""

from __future__ import annotations

from streams_orchestration.compiler.logical_graph import Tag
from streams_orchestration.compiler.parallel.intrinsics import substitute_channels
from streams_orchestration.compiler.physical_graph import PhysicalOperator


def resolve_text(text: str, operator: PhysicalOperator) -> str:
    """A tag or host name with the channel functions replaced (rules 32, 37)."""
    return str(substitute_channels(text, operator)).replace(" ", "") if "${" in text else text


def resolve_tag(tag: Tag, operator: PhysicalOperator) -> str:
    """The tag of one replica.

    `byChannel()` names the channel at the nesting level of the operator whose config brought it, the outermost one
    when that config stands outside of all regions; `byReplica()` and plain tags know no channels.
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
