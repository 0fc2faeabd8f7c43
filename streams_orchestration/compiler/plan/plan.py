"""The compiled plan as one document, sorted, so that equal input gives equal bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.plan import tables
from streams_orchestration.compiler.plan.sections import SECTIONS
from streams_orchestration.compiler.plan.terms import Document, Section, Stages, Terms
from streams_orchestration.model.diagnostics import Diagnostic

PLAN_VERSION = 1

_STAGES = {
    "logical_graph": "logicalGraph",
    "parallel_expanded_graph": "physicalGraph",
    "fusion_plan": "fusionPlan",
    "thread_plan": "threadPlan",
    "copy_plan": "copyPlan",
    "consistent_region_map": "consistentRegionMap",
}


def plan_document(compilation: Compilation) -> Document:
    """The whole plan."""
    return tables.document(_plan(compilation))


def plan_text(compilation: Compilation) -> Iterator[str]:
    """The whole plan as JSON, in pieces: for large plans, of which the document would take more than all stages."""
    yield from tables.text(_plan(compilation))
    yield "\n"


def _plan(compilation: Compilation) -> Section:
    terms = Terms(compilation.physical)
    return {
        "planVersion": PLAN_VERSION,
        "application": compilation.logical.application,
        "submission": dict(sorted(compilation.logical.submission.items())),
        **{key: build(compilation, terms) for key, build in SECTIONS.items()},
        "diagnostics": [diagnostic_document(diagnostic) for diagnostic in compilation.diagnostics],
    }


def compile_error_document(application_name: str, diagnostics: Iterable[Diagnostic]) -> Document:
    """The plan of an application that does not compile: every key, nothing in it but the diagnostics."""
    return {
        "planVersion": PLAN_VERSION,
        "application": application_name,
        "submission": {},
        "logicalGraph": {"operators": [], "streams": []},
        "physicalGraph": {"operators": [], "connections": [], "splitters": [], "imports": [], "exports": []},
        "fusionPlan": {"scheme": None, "pes": []},
        "threadPlan": {"threadedPorts": [], "operators": []},
        "copyPlan": {"connections": [], "senderCopies": 0, "enqueueCopies": 0, "eliminated": 0},
        "consistentRegionMap": {"logicalRegions": [], "regions": [], "autonomous": []},
        "diagnostics": [diagnostic_document(diagnostic) for diagnostic in diagnostics],
    }


def section(stage: str, stages: Stages) -> Document:
    """One section of the plan, by its key or by the name of its stage; needs no stage behind that one.

    Raises:
        KeyError: there is no such stage.
    """
    return tables.document(SECTIONS[_STAGES.get(stage, stage)](stages, Terms(stages.physical)))


def diagnostic_document(diagnostic: Diagnostic) -> Document:
    """One diagnostic as the plan holds it."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "operator": diagnostic.operator,
        "message": diagnostic.message,
        "location": diagnostic.location,
    }
