"""Units of recovery: what goes back to a cut together, because it fails together."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.runtime.errors import NotDeployableError

AUTONOMOUS_ATTEMPTS = 5
"""Resets in a row that a PE outside of regions may need; the default of a region (A1)."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A consistent region over its PEs, or one PE in no region."""

    name: str
    region: int | None
    pes: tuple[int, ...]
    starts: tuple[int, ...]
    """PEs that hold a start operator; of an autonomous unit its PE."""
    period: float | None
    """Seconds; None where an operator drives the region, and outside of regions."""
    max_attempts: int


def recovery_units(compilation: Compilation) -> tuple[Unit, ...]:
    """The units of an application, regions first.

    An autonomous operator that shares a PE with members of a region shares their fate (A45).

    Raises:
        NotDeployableError: a PE holds operators of two regions.
    """
    regions = compilation.regions
    of_pe: dict[int, set[int]] = {
        pe.id: {regions.region_of[operator] for operator in pe.operators} - {-1} for pe in compilation.fusion.pes
    }
    torn = next((pe for pe, found in of_pe.items() if len(found) > 1), None)
    if torn is not None:
        message = (
            f"PE {torn} holds operators of the consistent regions {sorted(of_pe[torn])}, which could not be reset "
            "apart; keep them in different PEs with partitionExlocation"
        )
        raise NotDeployableError(message)
    units = []
    for number, region in enumerate(regions.expanded):
        if not region.operators:
            continue
        pes = tuple(pe for pe, found in of_pe.items() if number in found)
        starts = tuple(sorted({compilation.fusion.pe_of[operator] for operator in region.starts}))
        units.append(
            Unit(
                f"region-{region.index}", region.index, pes, starts, region.period,
                region.max_consecutive_reset_attempts,
            )
        )  # fmt: skip
    units += [
        Unit(f"pe-{pe}", None, (pe,), (pe,), None, AUTONOMOUS_ATTEMPTS) for pe, found in of_pe.items() if not found
    ]
    return tuple(units)
