"""Options that a redeploy keeps from an earlier compilation, as far as they still fit the spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from streams_orchestration.compiler.compilation import Compilation, Progress
from streams_orchestration.compiler.compiling import compute
from streams_orchestration.compiler.fusion.stage import FUSION_STAGE
from streams_orchestration.compiler.fusion_fingerprint import fusion_fingerprint
from streams_orchestration.compiler.logical.stage import LOGICAL_STAGE
from streams_orchestration.compiler.logical_graph import LogicalGraph, ParallelRegion
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel.stage import PARALLEL_STAGE
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.reading import ReadSpec
from streams_orchestration.compiler.regions.stage import REGIONS_STAGE
from streams_orchestration.compiler.stage import Stage
from streams_orchestration.compiler.stage_results import FusionPlan
from streams_orchestration.model.application import Application
from streams_orchestration.model.diagnostics import errors_of

Widths = tuple[tuple[str, int], ...]
"""Patterns of region names with widths, as in `Options`."""


@dataclass(frozen=True, slots=True)
class FittedOptions:
    """The options for the next compilation of a spec; `fit` makes them from the options of an earlier one."""

    options: Options
    remarks: tuple[str, ...] = ()
    """A sentence for each kept option that was left out, and for each kept width that differs from the spec."""


def options_of(deployed: Compilation) -> Options:
    """Return the options of a deployed plan.

    A width of a region with a `uid` is kept under the uid instead of the name. A pattern is kept as well if it has a
    `*`, matches a region without a uid, or matches no region.
    """
    regions = deployed.logical.regions
    widths: dict[str, int] = {}
    for pattern, width in deployed.options.widths:
        own = [each for each in regions if each.matches(pattern)]
        for region in own:
            if region.uid:
                widths.setdefault(region.uid, width)
        if "*" in pattern or not all(each.uid for each in own):
            widths.setdefault(pattern, width)
    return replace(deployed.options, widths=tuple(widths.items()))


def fit(read: ReadSpec, kept: Options, change: Callable[[Options], Options] = lambda options: options) -> FittedOptions:
    """Return the options for the next compilation of a spec.

    Kept submission-time values that the spec does not declare, kept widths of regions that it lacks and a kept decision
    about other operators are left out. New options are not checked here, nor is a spec with errors. A kept width
    overrides the one in the spec, which a user who edits the spec may not expect.

    Args:
        read: the current spec.
        kept: the options of the earlier compilation.
        change: sets the options that the user has given.
    """
    application = read.application
    if application is None or errors_of(read.diagnostics):
        return FittedOptions(change(kept))
    values = {name: value for name, value in kept.submission.items() if name in application.submission}
    regions = _regions(application, replace(kept, submission=values)) if kept.widths else ()
    widths = kept.widths if regions is None else tuple(each for each in kept.widths if _applies(each[0], regions))
    remaining = replace(kept, submission=values, widths=widths)
    remarks = list(_left_out(kept, remaining))
    wanted = change(remaining)
    if wanted.widths is not remaining.widths:  # a deployed width that is given again counts as given
        wanted = replace(wanted, widths=_effective(wanted.widths, widths, regions or ()))
    else:
        remarks += _stronger(widths, regions or ())
    if wanted.decoupling is remaining.decoupling and not _suits(application, wanted):
        remarks.append("the decoupling decision is ignored, since it was made for other operators, connections or PEs")
        wanted = replace(wanted, decoupling=None)
    return FittedOptions(wanted, tuple(remarks))


def _applies(pattern: str, regions: Iterable[ParallelRegion]) -> bool:
    return any(region.matches(pattern) for region in regions)


def _left_out(kept: Options, remaining: Options) -> Iterator[str]:
    """Yield a sentence for each kept value and width that does not remain."""
    for name in kept.submission:
        if name not in remaining.submission:
            yield f"the value of {name} is ignored, since the spec no longer declares it"
    for pattern, width in kept.widths:
        if (pattern, width) not in remaining.widths:
            yield f"the width {width} of {pattern} is ignored, since no parallel region has such a name"


def _effective(widths: Widths, kept: Widths, regions: Iterable[ParallelRegion]) -> Widths:
    """Return the widths without kept ones that apply to no region; a kept pattern with `*` stays in any case."""
    first = {next((each for each in widths if region.matches(each[0])), None) for region in regions}
    return tuple(each for each in widths if each in first or each not in kept or "*" in each[0])


def _stronger(kept: Widths, regions: Iterable[ParallelRegion]) -> Iterator[str]:
    """Yield a sentence for each region whose kept width differs from its width in the spec."""
    for region in regions:
        counts = next((wide for pattern, wide in kept if region.matches(pattern)), region.width)
        if counts != region.width:
            yield (
                f"{region.name} keeps its deployed width {counts} instead of {region.width}, its width in the spec; "
                f"`streams redeploy` with --width {region.name}={region.width} changes it"
            )


def _regions(application: Application, options: Options) -> tuple[ParallelRegion, ...] | None:
    """Return the parallel regions of the spec, with the widths of the spec; None if it has errors."""
    done = _compiled(application, replace(options, widths=(), decoupling=None), LOGICAL_STAGE)
    return None if done is None else done[LogicalGraph].regions


def _suits(application: Application, options: Options) -> bool:
    """Return False if the decoupling decision was made for another application, or other operators or PEs.

    Return True without a decision, and for a spec with errors.
    """
    decision = options.decoupling
    if decision is None:
        return True
    plain = replace(options, decoupling=None)
    done = _compiled(application, plain, LOGICAL_STAGE, PARALLEL_STAGE, REGIONS_STAGE, FUSION_STAGE)
    if done is None:
        return True
    fused = fusion_fingerprint(done[LogicalGraph], done[PhysicalGraph], done[FusionPlan])
    return (decision.application, decision.fingerprint) == (application.application, fused)


def _compiled(application: Application, options: Options, *stages: Stage) -> Progress | None:
    """Return the application compiled up to a stage; None if it has errors."""
    done = Progress(options).with_result(application)
    for stage in stages:
        done, diagnostics = compute(stage, done)
        if errors_of(diagnostics):
            return None
    return done
