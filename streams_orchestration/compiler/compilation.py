"""All stages in a row: from an application to everything that running it needs to know."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streams_orchestration.compiler.copying import plan_copies
from streams_orchestration.compiler.fusion import fuse
from streams_orchestration.compiler.graph import LogicalGraph, PhysicalGraph
from streams_orchestration.compiler.logical import build_logical_graph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel import expand
from streams_orchestration.compiler.regions import map_regions
from streams_orchestration.compiler.stage_results import CopyPlan, FusionPlan, RegionMap, ThreadPlan
from streams_orchestration.compiler.threading import plan_threads
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
    return _compile(application, options or Options(), [])


def compile_spec(path: str | Path, options: Options | None = None) -> Compilation:
    """Read a spec and run all stages, so that errors of the text and of the graph are reported together.

    Raises:
        ApplicationError: the spec cannot be read, or has errors.
    """
    application, diagnostics = read_application(path)
    if application is None:
        raise ApplicationError(diagnostics)
    return _compile(application, options or Options(), diagnostics)


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


_OF_NO_CONSEQUENCE = frozenset(
    f"CDISP{number}E" for number in ("0090", "0407", "0408", "0410", "0489", "0840", "0841", "0851")
)
"""Errors of the text with which the graph still is the one that was meant: of queues, checkpoints, periods, threads."""


@uncollected()
def _compile(application: Application, options: Options, found: list[Diagnostic]) -> Compilation:
    diagnostics = list(found)

    def report(more: list[Diagnostic], *, stop: bool = False) -> None:
        diagnostics.extend(more)
        if stop and _errors(diagnostics):
            raise ApplicationError(in_order(diagnostics))

    if any(each.severity == "error" and each.code not in _OF_NO_CONSEQUENCE for each in found):
        # The text has errors already: what is missing because of them must not be reported again from its effects.
        report([], stop=True)
    logical, more = build_logical_graph(application, options)
    # With a name that leads nowhere the graph is not the one that was meant, so its checks would mislead.
    report(more, stop=any(each.severity == "error" and each.code.startswith("SO01") for each in more))
    physical, more = expand(logical, options)
    report(more, stop=any(each.code == "SO0501" for each in more))
    regions, more = map_regions(logical, physical)
    report(more)
    fusion, more = fuse(logical, physical, regions, options)
    report(more, stop=True)
    threads, more = plan_threads(logical, physical, fusion, options)
    report(more)
    copies, more = plan_copies(logical, physical, fusion, threads, options)
    report(more, stop=True)
    return Compilation(logical, physical, regions, fusion, threads, copies, options, in_order(diagnostics))


def _errors(diagnostics: list[Diagnostic]) -> bool:
    return any(each.severity == "error" for each in diagnostics)
