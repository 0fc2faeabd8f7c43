"""Fingerprints of compiled applications: stored state fits only an application with the same one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.plan import plan_document

_NAMED = 5
"""The most items that a difference names."""


def identity(compilation: Compilation) -> dict[str, Any]:
    """Return everything that decides how the application runs; line numbers are not part of it."""
    plan = plan_document(compilation)
    operators = {
        operator.name: {
            "kind": operator.implementation or operator.kind,
            "parameters": operator.parameters,
            "schemas": [output.schema for output in operator.outputs],
        }
        for operator in compilation.logical.operators
    }
    sections = ("physicalGraph", "fusionPlan", "threadPlan", "copyPlan", "consistentRegionMap")
    zone = {"timeZone": plan["timeZone"]} if "timeZone" in plan else {}
    return {"operators": operators, **zone, **{section: plan[section] for section in sections}}


def fingerprint(compilation: Compilation) -> str:
    """Return a hash of `identity`, 16 hexadecimal digits."""
    text = json.dumps(identity(compilation), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def difference(old: Compilation, new: Compilation) -> str:
    """Describe in a few words how two applications differ."""
    if widths := list(_widths(old, new)):
        return "; ".join(widths[:_NAMED])
    if old.logical.time_zone != new.logical.time_zone:
        return f"the time zone was {old.logical.time_zone}, and {new.logical.time_zone} is wanted"
    before, after = identity(old), identity(new)
    names = set(before["operators"]) ^ set(after["operators"])
    if names:
        return f"operators {', '.join(sorted(names)[:_NAMED])} were added or removed"
    for name, operator in after["operators"].items():
        for key, value in operator.items():
            if before["operators"][name][key] != value:
                return f"the {key} of operator {name} changed"
    sections = {
        "physicalGraph": "the connections",
        "fusionPlan": "the fusion into PEs",
        "threadPlan": "the threading",
        "copyPlan": "the copy plan",
        "consistentRegionMap": "the consistent regions",
    }
    return next((text for key, text in sections.items() if before[key] != after[key]), "the version of the product")


def _widths(old: Compilation, new: Compilation) -> Iterator[str]:
    """Name each parallel region of both whose width differs, with both widths."""
    before = {region.name: region.width for region in old.logical.regions}
    for region in new.logical.regions:
        if before.get(region.name, region.width) != region.width:
            yield f"{region.name} has width {before[region.name]}, and {region.width} is wanted"
