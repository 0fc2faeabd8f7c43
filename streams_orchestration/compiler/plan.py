"""The compiled plan as one document, sorted, so that equal input gives equal bytes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator

from streams_orchestration.compiler.compilation import Compilation, Progress
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.sections.tables import text_of
from streams_orchestration.compiler.sections.terms import Document, Section, Terms
from streams_orchestration.compiler.stage import Stage
from streams_orchestration.compiler.stages import STAGES
from streams_orchestration.model.diagnostics import Diagnostic

PLAN_VERSION = 1

_SECTIONS = tuple(sorted(STAGES, key=lambda stage: stage.place))
"""The stages, in the order in which the plan document has their sections."""


def plan_document(compilation: Compilation) -> Document:
    """Return the plan as a document; the section of the deployment plan is left out if there is no such plan."""
    return json.loads("".join(plan_text(compilation)))


def plan_text(compilation: Compilation) -> Iterator[str]:
    """Yield the whole plan as JSON text, in pieces.

    For a large plan, building one document would take longer than all stages together.
    """
    yield from text_of(_plan(compilation))
    yield "\n"


def _plan(compilation: Compilation) -> Section:
    done, terms = compilation.progress, Terms(compilation.physical)
    computed = (stage for stage in _SECTIONS if done.get(stage.result) is not None)
    return {
        "planVersion": PLAN_VERSION,
        "application": compilation.logical.application,
        **({} if (zone := compilation.logical.time_zone) == "UTC" else {"timeZone": zone}),
        "submission": dict(sorted(compilation.logical.submission.items())),
        **{stage.key: part for stage in computed if (part := stage.section(done, terms)) is not None},
        "diagnostics": [diagnostic.document() for diagnostic in compilation.diagnostics],
    }


def compile_error_document(application_name: str, diagnostics: Iterable[Diagnostic]) -> Document:
    """Return the plan of an application with errors: all sections are empty but the diagnostics."""
    return {
        "planVersion": PLAN_VERSION,
        "application": application_name,
        "submission": {},
        **{stage.key: copy.deepcopy(stage.empty) for stage in _SECTIONS if stage.empty is not None},
        "diagnostics": [diagnostic.document() for diagnostic in diagnostics],
    }


def section(stage: Stage, done: Progress) -> Document | None:
    """Return the section of a stage in the plan document; None if it has none. Later stages need not have run."""
    part = stage.section(done, Terms(done.get(PhysicalGraph) or done[LogicalGraph]))
    return json.loads("".join(text_of(part)))
