"""The widths that parallel regions should have by the measured load of their channels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil

from pydantic import BaseModel, ConfigDict, Field, model_validator

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.logical_graph import ParallelRegion
from streams_orchestration.compiler.parallel.channels import local_channels
from streams_orchestration.model.profile import Profile

_FILL = 0.8
"""Share of the target load at which a new width puts the channels, so that the next profile does not change it."""


class Rescaling(BaseModel):
    """The conditions on which the width of a parallel region is changed by measured load."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: float = Field(
        default=0.7,
        gt=0,
        le=1,
        description="Processors kept busy by the busiest channel, above which the region is widened.",
    )
    low: float = Field(
        default=0.25,
        ge=0,
        description="Processors kept busy by the busiest channel, below which the region is narrowed.",
    )
    least: int = Field(default=1, ge=1, description="The smallest width.")
    most: int | None = Field(
        default=None, ge=1, description="The largest width; the processors of the machine by default."
    )
    pause: float = Field(
        default=600.0, ge=0, description="Least seconds between two changes of the application's widths."
    )

    @model_validator(mode="after")
    def _go_together(self) -> Rescaling:
        if self.low > _FILL * self.target / 2:
            message = f"low must be at most {_FILL / 2:g} of target, else a region would be changed again and again"
            raise ValueError(message)
        if self.most is not None and self.most < self.least:
            message = "`most` must be at least `least`"
            raise ValueError(message)
        return self


@dataclass(frozen=True, slots=True)
class RegionLoad:
    """The processors that the channels of a parallel region keep busy."""

    region: str
    """Full logical name of the region."""
    width: int
    busiest: float
    total: float
    """Processors that the busiest channel and the channels beside it, in the same outer channel, keep busy."""


@dataclass(frozen=True, slots=True)
class NewWidth:
    """A new width for a parallel region, and the reason for it."""

    region: str
    width: int
    reason: str


def region_loads(compilation: Compilation, profile: Profile) -> tuple[RegionLoad, ...]:
    """Return the loads of all regions in which an operator was measured; operators that the plan lacks are ignored."""
    logical, physical = compilation.logical, compilation.physical
    replicas = {each.name: each for each in physical.operators}
    channels: dict[int, dict[tuple[int, ...], float]] = defaultdict(lambda: defaultdict(float))
    for measured in profile.operators:
        replica = replicas.get(measured.operator)
        if replica is None:
            continue
        inside = local_channels(replica.channels, replica.widths)
        for level, region in enumerate(logical.operators[replica.logical].regions):
            channels[region][inside[: level + 1]] += measured.cpu_seconds / profile.seconds
    return tuple(_load(logical.regions[region], loads) for region, loads in sorted(channels.items()))


def _load(region: ParallelRegion, loads: Mapping[tuple[int, ...], float]) -> RegionLoad:
    around, busiest = max(((channel[:-1], load) for channel, load in loads.items()), key=lambda each: each[1])
    total = sum(load for channel, load in loads.items() if channel[:-1] == around)
    return RegionLoad(region.name, region.width, busiest, total)


def width_change(loads: Iterable[RegionLoad], policy: Rescaling, processors: int | None) -> NewWidth | str:
    """Return the most urgent change of a width, or the reason why there is none.

    A region becomes wider when its busiest channel is over the target and more channels would share its load, up to the
    largest width. If no region becomes wider, the idlest one becomes narrower when its busiest channel is under `low`.
    If the policy names no largest width, it is the number of the machine's processors; the policy's smallest width if
    that is unknown.
    """
    most = policy.most or max(policy.least, processors or 1)
    remarks: list[str] = []
    for each in sorted(loads, key=lambda load: -load.busiest):
        if each.busiest > policy.target:
            wanted = ceil(each.total / (_FILL * policy.target))
            what = f"the busiest channel of {each.region} takes {each.busiest:.2f} processors, over {policy.target:g}"
            if min(wanted, most) > each.width:
                return NewWidth(each.region, min(wanted, most), what)
            limit = f"{most} is the largest width" if wanted > each.width else "the other channels have little to do"
            remarks.append(f"{what}, but more channels would not help: {limit}")
    for each in sorted(loads, key=lambda load: load.busiest):
        wanted = max(policy.least, ceil(each.width * each.busiest / (_FILL * policy.target)))
        if each.busiest < policy.low and wanted < each.width:
            what = f"the busiest channel of {each.region} takes {each.busiest:.2f} processors, under {policy.low:g}"
            return NewWidth(each.region, wanted, what)
    return "; ".join(remarks) or "no region is over or far under its target"
