"""The stages of the compilation, as one asset each: their order, their inputs, and how each is computed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import streams_orchestration.compiler
import streams_orchestration.model
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.copies.copies import plan_copies
from streams_orchestration.compiler.fusion.fusion import fuse
from streams_orchestration.compiler.logical.logical import build_logical_graph
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel.parallel import expand
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.regions.regions import map_regions
from streams_orchestration.compiler.rewriting.rewriting import decouple
from streams_orchestration.compiler.stage_results import CopyPlan, FusionPlan, RegionMap, ThreadPlan
from streams_orchestration.compiler.threads.threads import plan_threads
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.loading import load_application


@dataclass(frozen=True, slots=True)
class Progress:
    """As much of a compilation as there is: the results of the stages so far, None for those to come."""

    options: Options
    logical: LogicalGraph
    physical: PhysicalGraph | None = None
    regions: RegionMap | None = None
    fusion: FusionPlan | None = None
    threads: ThreadPlan | None = None
    copies: CopyPlan | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def compilation(self) -> Compilation:
        """The finished compilation.

        Raises:
            ValueError: a stage is missing.
        """
        return Compilation(
            logical=self.logical,
            physical=need(self.physical),
            regions=need(self.regions),
            fusion=need(self.fusion),
            threads=need(self.threads),
            copies=need(self.copies),
            options=self.options,
            diagnostics=self.diagnostics,
        )


class Stage(NamedTuple):
    """One stage: the asset's name, and the function behind it."""

    name: str
    field: str
    """Where its result stands in `Progress`."""
    section: str
    """Where its result stands in the plan document."""
    result: type
    inputs: tuple[str, ...]
    """Names of the stages it reads."""
    description: str
    compute: Callable[[Any], tuple[Any, list[Diagnostic]]]
    """From the `Progress` of its inputs; the first stage is computed from the spec instead."""


def _fuse(done: Progress) -> tuple[FusionPlan, list[Diagnostic]]:
    stages = done.logical, need(done.physical), need(done.regions)
    fusion, diagnostics = fuse(*stages, done.options)
    fusion, more = decouple(*stages, fusion, done.options)
    return fusion, diagnostics + more


def _threads(done: Progress) -> tuple[ThreadPlan, list[Diagnostic]]:
    return plan_threads(done.logical, need(done.physical), need(done.fusion), done.options)


def _copies(done: Progress) -> tuple[CopyPlan, list[Diagnostic]]:
    return plan_copies(done.logical, need(done.physical), need(done.fusion), need(done.threads), done.options)


LOGICAL = "logical_graph"
PARALLEL = "parallel_expanded_graph"
REGIONS = "consistent_region_map"
FUSION = "fusion_plan"
THREADS = "thread_plan"
COPIES = "copy_plan"

STAGES: Mapping[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage(
            LOGICAL,
            "logical",
            "logicalGraph",
            LogicalGraph,
            (),
            "The application flattened to primitive operators and the streams between them.",
            lambda done: (done.logical, []),
        ),
        Stage(
            PARALLEL,
            "physical",
            "physicalGraph",
            PhysicalGraph,
            (LOGICAL,),
            "Every parallel region replicated to its width, with the splitters in front of its channels.",
            lambda done: expand(done.logical, done.options),
        ),
        Stage(
            REGIONS,
            "regions",
            "consistentRegionMap",
            RegionMap,
            (LOGICAL, PARALLEL),
            "The consistent regions: which operators take their cuts together, where they start and end.",
            lambda done: map_regions(done.logical, need(done.physical)),
        ),
        Stage(
            FUSION,
            "fusion",
            "fusionPlan",
            FusionPlan,
            (LOGICAL, PARALLEL, REGIONS),
            "The operators partitioned into processing elements, and those placed on hosts.",
            _fuse,
        ),
        Stage(
            THREADS,
            "threads",
            "threadPlan",
            ThreadPlan,
            (LOGICAL, PARALLEL, FUSION),
            "The queues inside the PEs, and which operators more than one thread enters.",
            _threads,
        ),
        Stage(
            COPIES,
            "copies",
            "copyPlan",
            CopyPlan,
            (LOGICAL, PARALLEL, FUSION, THREADS),
            "How tuples pass every connection: by reference, copied, through a queue or over the transport.",
            _copies,
        ),
    )
}
"""All stages in the order of work."""


Result = TypeVar("Result")


def need(result: Result | None) -> Result:
    """A result that an earlier stage must have left."""
    if result is None:
        message = "a stage was computed before one that it reads"
        raise ValueError(message)
    return result


def first_stage(spec: Path, options: Options) -> tuple[Progress, list[Diagnostic]]:
    """Read a spec and compute the first stage.

    Raises:
        ApplicationError: the spec cannot be read, or has errors that leave no graph.
    """
    logical, diagnostics = build_logical_graph(load_application(spec), options)
    return Progress(options, logical), diagnostics


def next_stage(name: str, done: Progress) -> tuple[Progress, list[Diagnostic]]:
    """Compute one more stage; `done` holds its inputs at least."""
    stage = STAGES[name]
    result, diagnostics = stage.compute(done)
    return replace(done, **{stage.field: result}), diagnostics


@cache
def code_version() -> str:
    """Version of the package and a hash of the compiler's sources: a stage is out of date when this has changed."""
    digest = hashlib.sha256()
    for package in (streams_orchestration.model, streams_orchestration.compiler):
        for source in sorted(Path(package.__path__[0]).rglob("*.py")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
    try:
        release = version("streams-orchestration")
    except PackageNotFoundError:
        release = "0"
    return f"{release}-{digest.hexdigest()[:12]}"


def content_version(content: bytes) -> str:
    """The data version of stored bytes."""
    return hashlib.sha256(content).hexdigest()
