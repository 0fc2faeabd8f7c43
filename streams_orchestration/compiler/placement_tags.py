"""Tags of colocation and exlocation, as they read on one replica (rules 32, 46, 47, 49)."""

from __future__ import annotations

import re

from streams_orchestration.compiler.graph import PhysicalOperator, Tag

_INTRINSIC = re.compile(r"\$\{\s*get(Local)?(Max)?Channels?\(\s*\)\s*\}")


def substitute_channels(text: str, operator: PhysicalOperator) -> str:
    """Replace the channel intrinsics; outside of parallel regions channels are -1 and maxima 0 (rules 28, 29)."""
    if "${" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        local, maximum = match.groups()
        if maximum:
            return str(operator.local_max_channels if local else operator.max_channels)
        return str(operator.local_channel if local else operator.channel)

    return _INTRINSIC.sub(value, text)


def resolve_tag(tag: Tag, operator: PhysicalOperator) -> str:
    """The tag of one replica.

    `byChannel()` names the channel at the nesting level of the operator whose config brought it, the outermost one
    when that config stands outside of all regions; `byReplica()` and plain tags know no channels.
    """
    match tag.kind:
        case "plain":
            return substitute_channels(tag.text, operator)
        case "byReplica":
            return tag.text
        case "byChannel":
            if not operator.channels:
                return tag.text
            level = min(max(tag.level, 0), len(operator.channels) - 1)
            return f"{tag.text}_{operator.channels[level]}"
