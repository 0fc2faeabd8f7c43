"""Changes of event time from one plan to another, operator by operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.model.brief import plural

_SHOWN = 5


class EventTimeChange(NamedTuple):
    """The event time of one operator in the old and the new plan, in words; empty if the operator has none."""

    operator: str
    before: str
    after: str

    @property
    def text(self) -> str:
        """The event time in both plans, as `old -> new`, with `none` for no event time."""
        return f"{self.before or 'none'} -> {self.after or 'none'}"

    def document(self) -> dict[str, Any]:
        """Return the change as JSON, with null for no event time."""
        return {"operator": self.operator, "before": self.before or None, "after": self.after or None}


def event_time_changes(old: Compilation, new: Compilation) -> tuple[EventTimeChange, ...]:
    """Return the operators of both plans, matched by identity, whose event time changes."""
    before, after = _words(old), _words(new)
    names = {each.identity: each.name for each in new.logical.operators}
    common = [each.identity for each in old.logical.operators if each.identity in names]
    return tuple(
        EventTimeChange(names[identity], before.get(identity, ""), after.get(identity, ""))
        for identity in common
        if before.get(identity, "") != after.get(identity, "")
    )


def event_time_sentence(changes: Sequence[EventTimeChange]) -> str:
    """Return a sentence that names at most `_SHOWN` changes and counts the others; empty if there are none."""
    if not changes:
        return ""
    shown = "; ".join(f"{each.operator}: {each.text}" for each in changes[:_SHOWN])
    more = f"; and {plural(len(changes) - _SHOWN, 'other')}" if len(changes) > _SHOWN else ""
    return f"Event time changes: {shown}{more}."


def _words(compilation: Compilation) -> dict[str, str]:
    """Map the identity of each logical operator with event time to that in words, which all its replicas share."""
    logical, physical = compilation.logical.operators, compilation.physical
    found: dict[str, str] = {}
    for each in compilation.event_time.operators:
        model, graph = logical[physical.operators[each.operator].logical], compilation.event_time.graphs[each.graph]
        sources = {logical[physical.operators[physical.connections[n].source].logical].name for n in each.connections}
        sources |= {physical.imports[number].name for number in each.imports}
        parts = [f"{each.mode} by {graph.time}"]
        parts += [f"from {', '.join(sorted(sources))}"] if sources else []
        parts += [f"lag {each.lag:g} s", f"minimumGap {each.minimum_gap:g} s"]
        if (annotation := model.event_time) is not None:
            values = {
                "idleAfter": annotation.idle_after,
                "maxAhead": annotation.max_ahead,
                "aheadOf": annotation.ahead_of,
                "maxDrift": annotation.max_drift,
                "confirmations": annotation.confirmations if annotation.max_ahead is not None else None,
                "onNull": "ignore" if annotation.on_null == "ignore" else None,
            }
            parts += [f"{key} {value}" for key, value in values.items() if value is not None]
        found[model.identity] = ", ".join(parts)
    return found
