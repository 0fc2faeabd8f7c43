"""What came of a decision: the loads and the speed-up that it promised, beside what was measured afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.profiles.costs import MeasuredCosts
from streams_orchestration.compiler.stage_results import FusionPlan
from streams_orchestration.model.profile import Profile

PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class PeOutcome:
    """One PE of the decoupled application."""

    pe: int
    predicted: float
    """Load at the rate that was measured, in percent of a processor."""
    measured: float
    busy: float
    """Part of the time in which it was in a batch, in percent."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A prediction and what was measured. Rates are of the tuples that come into the application, a second."""

    rate_before: float
    """When the decision was made."""
    most_before: float
    """The most that it could have taken then, by processor time."""
    predicted_most: float
    """The same for the decoupled application, as it was predicted."""
    rate: float
    """Measured now."""
    measured_most: float
    """The most that it can take now, by the same rule."""
    pes: tuple[PeOutcome, ...]

    @property
    def predicted_speedup(self) -> float:
        """What the decision promised."""
        return self.predicted_most / self.most_before if self.most_before else 1.0

    @property
    def measured_speedup(self) -> float:
        """By processor time: how much more PEs and processors leave time for."""
        return self.measured_most / self.most_before if self.most_before else 1.0

    @property
    def throughput_ratio(self) -> float:
        """What the application took now, as a multiple of what it took then; sources may not have had more."""
        return self.rate / self.rate_before if self.rate_before else 1.0

    @property
    def error(self) -> float:
        """Of the predicted speed-up, as a part of the measured one."""
        return (
            abs(self.predicted_speedup - self.measured_speedup) / self.measured_speedup
            if self.measured_speedup
            else 1.0
        )

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "predictedSpeedup": _short(self.predicted_speedup),
            "measuredSpeedup": _short(self.measured_speedup),
            "error": _short(self.error),
            "throughputRatio": _short(self.throughput_ratio),
            "tuplesPerSecond": {
                "before": _short(self.rate_before),
                "mostBefore": _short(self.most_before),
                "predictedMost": _short(self.predicted_most),
                "now": _short(self.rate),
                "mostNow": _short(self.measured_most),
            },
            "pes": [
                {
                    "pe": each.pe,
                    "predictedLoad": _short(each.predicted),
                    "measuredLoad": _short(each.measured),
                    "busy": _short(each.busy),
                }
                for each in self.pes
            ],
        }


def entering_rate(logical: LogicalGraph, physical: PhysicalGraph, costs: MeasuredCosts) -> float:
    """Tuples a second that come into an application: what its sources produce, and what its Imports bring."""
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

    Args:
        logical: the application.
        physical: its expanded graph.
        fusion: its PEs, with the decision applied.
        costs: what was measured since.
        profile: the same, with what each PE took.
        decision: what the decision's document says under `decision`.
    """
    rate = entering_rate(logical, physical, costs)
    before, most_before = decision["tuplesPerSecond"], decision["mostTuplesPerSecond"]
    saturated = before * decision["saturation"]
    factor = rate / saturated if saturated else 0.0
    """The document's loads are those at the saturated rate."""
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


def _short(number: float) -> float:
    return float(f"{number:.6g}")
