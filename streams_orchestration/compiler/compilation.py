"""All stages in a row: from an application to everything that running it needs to know."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streams_orchestration.compiler.copies.copies import plan_copies
from streams_orchestration.compiler.fusion.fusion import fuse
from streams_orchestration.compiler.logical.logical import build_logical_graph
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.misleading import misled, trusted
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel.parallel import expand
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.regions.regions import map_regions
from streams_orchestration.compiler.rewriting.rewriting import decouple
from streams_orchestration.compiler.stage_results import CopyPlan, FusionPlan, RegionMap, ThreadPlan
from streams_orchestration.compiler.threads.threads import plan_threads
from streams_orchestration.model.application import Application
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic, in_order
from streams_orchestration.model.loading import read_application


@dataclass(frozen=True, slots=True)
class Compilation:
    """The result of every stage for one application, and the warnings."""

    logical: LogicalGraph
    physical: PhysicalGraph
    regions: RegionMap
    fusion: FusionPlan
    threads: ThreadPlan
    copies: CopyPlan
    options: Options
    diagnostics: tuple[Diagnostic, ...] = ()


def compile_application(application: Application, options: Options | None = None) -> Compilation:
    """Run all stages.

    Raises:
        ApplicationError: the application has errors; those of every stage that could still be run are reported.
    """
    return _compile(application, options or Options(), [], checked=False)


def compile_spec(path: str | Path, options: Options | None = None) -> Compilation:
    """Read a spec and run all stages, so that errors of the text and of the graph are reported together.

    Raises:
        ApplicationError: the spec cannot be read, or has errors.
    """
    application, diagnostics = read_application(path)
    if application is None:
        raise ApplicationError(diagnostics)
    return _compile(application, options or Options(), diagnostics, checked=True)


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection meanwhile: compiling makes no cycles, and the collector would visit all that it makes."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@uncollected()
def _compile(application: Application, options: Options, found: list[Diagnostic], *, checked: bool) -> Compilation:
    diagnostics = list(found)

    def report(more: list[Diagnostic], *, stop: bool = False) -> None:
        diagnostics.extend(more)
        if stop and _errors(diagnostics):
            raise ApplicationError(in_order(diagnostics))

    # What follows from an error already found is no news, so what that puts in doubt is not reported.
    wrong = misled(found)
    if "values" in wrong:
        report([], stop=True)
    logical, more = build_logical_graph(application, options, checked=checked)
    wrong |= misled(each for each in more if each.code.startswith("SO01"))
    hopeless = wrong >= {"parallel", "regions", "placement"} or any(each.code == "SO0501" for each in more)
    report(trusted(more, "values", wrong), stop=hopeless)
    physical, more = expand(logical, options)
    report(trusted(more, "parallel", wrong), stop=any(each.code == "SO0501" for each in more))
    regions, more = map_regions(logical, physical)
    report(trusted(more, "regions", wrong))
    fusion, more = fuse(logical, physical, regions, options)
    report(trusted(more, "placement", wrong), stop=bool(wrong) or _errors(more))
    fusion, more = decouple(logical, physical, regions, fusion, options)
    report(more, stop=_errors(more))
    threads, more = plan_threads(logical, physical, fusion, options)
    report(more, stop=True)
    copies, more = plan_copies(logical, physical, fusion, threads, options)
    report(more, stop=True)
    return Compilation(logical, physical, regions, fusion, threads, copies, options, in_order(diagnostics))


def _errors(diagnostics: list[Diagnostic]) -> bool:
    return any(each.severity == "error" for each in diagnostics)
