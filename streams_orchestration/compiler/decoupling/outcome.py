"""Outcomes of decisions: predicted loads and speed-up beside the measured ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.profiles.costs import MeasuredCosts
from streams_orchestration.compiler.stage_results import FusionPlan
from streams_orchestration.model.brief import significant
from streams_orchestration.model.profile import Profile

PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class PeOutcome:
    """One PE of the decoupled application."""

    pe: int
    predicted: float
    """The predicted load at the measured rate, in percent of a processor."""
    measured: float
    """The measured load, in percent of a processor."""
    busy: float
    """The percentage of time in which the PE processed batches."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A prediction beside the measurement. Rates are tuples a second that enter the application."""

    rate_before: float
    """The measured rate before the decision."""
    most_before: float
    """The highest possible rate before the decision, computed from processor time."""
    predicted_most: float
    """The highest possible rate that was predicted for the decoupled application."""
    rate: float
    """The measured rate after the decision."""
    measured_most: float
    """The highest possible rate after the decision, computed from processor time."""
    pes: tuple[PeOutcome, ...]

    @property
    def predicted_speedup(self) -> float:
        """The speed-up that the decision predicted; 1 if the highest possible rate before it is 0."""
        return self.predicted_most / self.most_before if self.most_before else 1.0

    @property
    def measured_speedup(self) -> float:
        """The highest possible rates after, divided by those before, by processor time; 1 if there were none before."""
        return self.measured_most / self.most_before if self.most_before else 1.0

    @property
    def throughput_ratio(self) -> float:
        """The measured rate after the decision over the rate before, 1 if that is 0; sources may have limited both."""
        return self.rate / self.rate_before if self.rate_before else 1.0

    @property
    def error(self) -> float:
        """The error of the predicted speed-up, relative to the measured one; 1 if that is 0."""
        return (
            abs(self.predicted_speedup - self.measured_speedup) / self.measured_speedup
            if self.measured_speedup
            else 1.0
        )

    def document(self) -> dict[str, Any]:
        """Return the outcome as JSON."""
        return {
            "predictedSpeedup": significant(self.predicted_speedup),
            "measuredSpeedup": significant(self.measured_speedup),
            "error": significant(self.error),
            "throughputRatio": significant(self.throughput_ratio),
            "tuplesPerSecond": {
                "before": significant(self.rate_before),
                "mostBefore": significant(self.most_before),
                "predictedMost": significant(self.predicted_most),
                "now": significant(self.rate),
                "mostNow": significant(self.measured_most),
            },
            "pes": [
                {
                    "pe": each.pe,
                    "predictedLoad": significant(each.predicted),
                    "measuredLoad": significant(each.measured),
                    "busy": significant(each.busy),
                }
                for each in self.pes
            ],
        }


def entering_rate(logical: LogicalGraph, physical: PhysicalGraph, costs: MeasuredCosts) -> float:
    """Return the tuples a second that enter an application, from sources and from Imports.

    Ports that were not measured count as 0.
    """
    sources = {each.index for each in physical.operators if not logical.operators[each.logical].inputs}
    produced = sum(rate for (operator, _), rate in costs.tuples.items() if operator in sources)
    return produced + sum(costs.arriving.get((each.operator, each.port), 0.0) for each in physical.imports)


def outcome(
    logical: LogicalGraph,
    physical: PhysicalGraph,
    fusion: FusionPlan,
    costs: MeasuredCosts,
    profile: Profile,
    decision: Mapping[str, Any],
) -> Outcome:
    """Compare a decision with a profile of the application that it was applied to.

    PEs that the profile lacks are left out. If the decision was made at a rate of 0, the predicted loads are 0. Without
    a measured load, the highest possible rate is 0.

    Args:
        logical: the application.
        physical: its expanded graph.
        fusion: its PEs, with the decision applied.
        costs: the costs measured since.
        profile: the profile of these costs, with the times of PEs.
        decision: the part `decision` of the decision's document.
    """
    rate = entering_rate(logical, physical, costs)
    before, most_before = decision["tuplesPerSecond"], decision["mostTuplesPerSecond"]
    saturated = before * decision["saturation"]
    factor = rate / saturated if saturated else 0.0
    """The ratio of the measured rate to the saturating rate, at which the decision's document gives its loads."""
    measured = {each.pe: each for each in profile.pes}
    outcomes: list[PeOutcome] = []
    for pe in fusion.pes:
        if pe.original == decision["pe"] and pe.origin >= 0:
            load = decision["loads"]["after"][pe.machine]
        else:
            load = decision["loads"]["before"].get(str(pe.original), 0.0)
        known = measured.get(pe.id)
        if known is not None:
            busy = PERCENT * known.busy_seconds / profile.seconds
            outcomes.append(PeOutcome(pe.id, load * factor, PERCENT * profile.utilisation(known), busy))
    loads = [each.measured for each in outcomes]
    return Outcome(
        rate_before=before,
        most_before=most_before,
        predicted_most=most_before * decision["predictedSpeedup"],
        rate=rate,
        measured_most=rate * costs.headroom(loads) if any(loads) else 0.0,
        pes=tuple(outcomes),
    )
