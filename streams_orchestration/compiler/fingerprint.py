"""Fingerprints of compiled applications: stored state fits only an application with the same fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.logical_graph import LogicalOperator
from streams_orchestration.compiler.plan import plan_document
from streams_orchestration.model.programs import without_places

_NAMED = 5
"""The most items that a difference names."""


def identity(compilation: Compilation) -> dict[str, Any]:
    """Return all facts that decide how the application runs; line numbers are not among them."""
    plan = plan_document(compilation)
    operators = {
        operator.name: {
            "kind": operator.implementation or operator.kind,
            "parameters": without_places(operator.parameters),
            "schemas": [output.schema for output in operator.outputs],
            **_event_time(operator),
        }
        for operator in compilation.logical.operators
    }
    sections = ("physicalGraph", "fusionPlan", "threadPlan", "copyPlan", "consistentRegionMap")
    zone = {"timeZone": plan["timeZone"]} if "timeZone" in plan else {}
    event_time = {"eventTimeMap": plan["eventTimeMap"]} if compilation.event_time.graphs else {}
    return {"operators": operators, **zone, **{section: plan[section] for section in sections}, **event_time}


def _event_time(operator: LogicalOperator) -> dict[str, Any]:
    """Return an operator's `eventTime` annotation without its location in the spec; empty if it has none."""
    annotation = operator.event_time
    return {} if annotation is None else {"eventTime": asdict(replace(annotation, location=None))}


def fingerprint(compilation: Compilation) -> str:
    """Return a hash of `identity`, 16 hexadecimal digits."""
    text = json.dumps(identity(compilation), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def difference(old: Compilation, new: Compilation) -> str:
    """Describe the first kind of difference between two applications in a few words.

    At most `_NAMED` regions or operators are named. It is the version of the product if no fact of `identity` differs.
    """
    if widths := list(_widths(old, new)):
        return "; ".join(widths[:_NAMED])
    if old.logical.time_zone != new.logical.time_zone:
        return f"the time zone was {old.logical.time_zone}, and now is {new.logical.time_zone}"
    before, after = identity(old), identity(new)
    former_names, names = set(before["operators"]), set(after["operators"])
    if former_names != names:
        return "; ".join(_named("new", names - former_names) + _named("removed", former_names - names))
    for name, operator in after["operators"].items():
        former = before["operators"][name]
        for key in {**former, **operator}:
            if former.get(key) != operator.get(key):
                return f"the {key} of operator {name} changed"
    sections = {
        "physicalGraph": "the connections",
        "fusionPlan": "the fusion into PEs",
        "threadPlan": "the threading",
        "copyPlan": "the copy plan",
        "consistentRegionMap": "the consistent regions",
        "eventTimeMap": "the event-time graphs",
    }
    changed = (text for key, text in sections.items() if before.get(key) != after.get(key))
    return next(changed, "the version of the product")


def _named(change: str, names: set[str]) -> list[str]:
    """Describe a change of operators: how they changed, and at most `_NAMED` of their names; empty without names."""
    shown = sorted(names)[:_NAMED] + (["..."] if len(names) > _NAMED else [])
    return [f"{change} operator{'s'[: len(names) - 1]}: {', '.join(shown)}"] if names else []


def _widths(old: Compilation, new: Compilation) -> Iterator[str]:
    """Name each parallel region of both plans whose width differs between them, with both widths."""
    before = {region.name: region.width for region in old.logical.regions}
    for region in new.logical.regions:
        if before.get(region.name, region.width) != region.width:
            yield f"{region.name} has width {before[region.name]}, and the new width is {region.width}"
