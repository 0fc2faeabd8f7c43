"""Fingerprints of fused applications; a decoupling decision fits only an application with an equal one (rule Q12)."""

from __future__ import annotations

import hashlib
import json

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import FusionPlan


def fusion_fingerprint(logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan) -> str:
    """Return a hash of operators, connections and PEs, in 16 hexadecimal digits, which decoupling does not change.

    Parameters do not count: when they change, a decision stays valid, though perhaps not the best.
    """
    pes: dict[int, list[str]] = {}
    for pe in fusion.pes:
        pes.setdefault(pe.original, []).extend(physical.operators[each].name for each in pe.operators)
    facts = (
        [(each.name, logical.operators[each.logical].kind) for each in physical.operators],
        [tuple(each) for each in physical.connections],
        sorted(sorted(operators) for operators in pes.values()),
    )
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
