"""Options that a redeploy keeps from an earlier compilation, as far as they still fit the spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from streams_orchestration.compiler.compilation import Compilation, Progress, need
from streams_orchestration.compiler.compiling import compute
from streams_orchestration.compiler.fusion.stage import FUSION_STAGE
from streams_orchestration.compiler.fusion_fingerprint import fusion_fingerprint
from streams_orchestration.compiler.logical.parallel_annotations import width_pattern
from streams_orchestration.compiler.logical.stage import LOGICAL_STAGE
from streams_orchestration.compiler.logical_graph import ParallelRegion
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel.stage import PARALLEL_STAGE
from streams_orchestration.compiler.reading import ReadSpec
from streams_orchestration.compiler.regions.stage import REGIONS_STAGE
from streams_orchestration.compiler.stage import Stage
from streams_orchestration.model.application import Application
from streams_orchestration.model.diagnostics import errors_of


def options_of(deployed: Compilation) -> Options:
    """Return the options of a deployed plan.

    A width of a region with a `uid` is kept under the uid instead of the name.
    """
    regions = deployed.logical.regions
    widths: dict[str, int] = {}
    for pattern, width in deployed.options.widths:
        own = [each for each in regions if fits(pattern, each)]
        for region in own:
            if region.uid:
                widths.setdefault(region.uid, width)
        if "*" in pattern or not all(each.uid for each in own):
            widths.setdefault(pattern, width)
    return replace(deployed.options, widths=tuple(widths.items()))


def fits(pattern: str, region: ParallelRegion) -> bool:
    """Return True if a width pattern matches a region by its name or its uid."""
    return any(map(width_pattern(pattern).fullmatch, region.identities))


def fitting(
    read: ReadSpec, kept: Options, change: Callable[[Options], Options] = lambda options: options
) -> tuple[Options, tuple[str, ...]]:
    """Return the options for the next compilation of a spec.

    Kept submission-time values that the spec does not declare, kept widths of regions that it lacks and a kept decision
    about other operators are left out. New options are not checked here, nor is a spec with errors. A kept width
    overrides the one in the spec, which a user who edits the spec may not expect.

    Args:
        read: the current spec.
        kept: the options of the earlier compilation.
        change: the options that the user has set.

    Returns:
        The options, and a sentence for each option that was left out and each width that differs from the spec.
    """
    application = read.application
    if application is None or errors_of(read.diagnostics):
        return change(kept), ()
    values = {name: value for name, value in kept.submission.items() if name in application.submission}
    remarks = [
        f"the value of {name} is ignored, since the spec no longer declares it"
        for name in kept.submission
        if name not in values
    ]
    options, narrower, regions = _widths(application, replace(kept, submission=values))
    wanted = change(options)
    if wanted.widths is options.widths:  # none is wanted, not even one that is deployed
        narrower += _stronger(regions, options.widths)
    else:
        wanted = replace(wanted, widths=_counting(regions, wanted.widths, options.widths))
    undecided: list[str] = []
    if wanted.decoupling is options.decoupling:
        wanted, undecided = _decision(application, wanted)
    return wanted, (*remarks, *narrower, *undecided)


def _widths(application: Application, options: Options) -> tuple[Options, list[str], tuple[ParallelRegion, ...]]:
    """Return the options with widths that match a region, sentences about other widths, and the spec's regions."""
    if not options.widths:
        return options, [], ()
    done = _compiled(application, replace(options, widths=(), decoupling=None), (LOGICAL_STAGE,))
    if done is None:
        return options, [], ()
    regions = need(done.logical).regions
    fit = tuple(each for each in options.widths if any(fits(each[0], region) for region in regions))
    left_out = [
        f"the width {width} of {pattern} is ignored, since no parallel region has such a name any more"
        for pattern, width in options.widths
        if (pattern, width) not in fit
    ]
    return replace(options, widths=fit), left_out, regions


def _counting(
    regions: Iterable[ParallelRegion], widths: tuple[tuple[str, int], ...], kept: tuple[tuple[str, int], ...]
) -> tuple[tuple[str, int], ...]:
    """Return the widths without the kept ones that apply to no region.

    A kept pattern with `*` stays in any case.
    """
    first = {next((each for each in widths if fits(each[0], region)), None) for region in regions}
    return tuple(each for each in widths if each in first or each not in kept or "*" in each[0])


def _stronger(regions: Iterable[ParallelRegion], kept: Sequence[tuple[str, int]]) -> Iterator[str]:
    """Yield a sentence for each region whose kept width differs from its width in the spec."""
    for region in regions:
        counts = next((wide for pattern, wide in kept if fits(pattern, region)), region.width)
        if counts != region.width:
            yield (
                f"{region.name} keeps its deployed width {counts}, as with --width; "
                f"`streams redeploy` with --width {region.name}={region.width} takes the width of the spec"
            )


def _decision(application: Application, options: Options) -> tuple[Options, list[str]]:
    if options.decoupling is None:
        return options, []
    plain = replace(options, decoupling=None)
    done = _compiled(application, plain, (LOGICAL_STAGE, PARALLEL_STAGE, REGIONS_STAGE, FUSION_STAGE))
    if done is None:
        return options, []
    fused = fusion_fingerprint(need(done.logical), need(done.physical), need(done.fusion))
    if (options.decoupling.application, options.decoupling.fingerprint) == (application.application, fused):
        return options, []
    return plain, ["the decoupling decision is ignored, since it was made for other operators, connections or PEs"]


def _compiled(application: Application, options: Options, stages: Iterable[Stage]) -> Progress | None:
    """Return the application compiled up to a stage; None if it has errors."""
    done = Progress(options, application)
    for stage in stages:
        done, diagnostics = compute(stage, done)
        if errors_of(diagnostics):
            return None
    return done
