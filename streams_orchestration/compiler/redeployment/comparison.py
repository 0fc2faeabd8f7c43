"""Comparison of two plans of one application, which `streams diff` and the console show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.fingerprint import fingerprint
from streams_orchestration.compiler.redeployment.event_time import EventTimeChange, event_time_changes
from streams_orchestration.compiler.redeployment.numbered import as_deployed
from streams_orchestration.compiler.redeployment.outcome import OperatorAction, Redeployment
from streams_orchestration.compiler.redeployment.preview import preview
from streams_orchestration.compiler.redeployment.widths import WidthChange, width_change
from streams_orchestration.model.brief import plural, short_list

_NAMES_WIDTH = 40
_MANY_NAMES_WIDTH = 72
OUTCOME_COLUMNS = ("", "", "action", "rows", "bytes", "reason")
"""The columns of `outcome_rows`."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The changes from one plan to another."""

    change: WidthChange
    outcome: Redeployment | None
    """The effects of a redeploy; None for an application that cannot run here."""
    event_time: tuple[EventTimeChange, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the comparison as JSON.

        `redeploy` is null if one of the plans cannot run here. `eventTime` is left out if no event time changes.
        """
        change = self.change
        return {
            "widths": [each._asdict() for each in change.widths],
            "operators": {
                "changed": list(change.changed),
                "renamed": [{"old": old, "new": new} for old, new in change.renamed],
                "added": [each._asdict() for each in change.added],
                "removed": list(change.removed),
            },
            "pes": {
                "kept": list(change.pes.kept),
                "restart": [{"pe": each.pe, "why": list(each.why)} for each in change.pes.restart],
                "start": list(change.pes.start),
                "stop": list(change.pes.stop),
            },
            **({"eventTime": [each.document() for each in self.event_time]} if self.event_time else {}),
            "refused": bool(change.reason),
            "reason": change.reason,
            "redeploy": self.outcome and self.outcome.document(),
        }

    @property
    def refusal(self) -> str:
        """A sentence with the width changes that Streams would refuse; empty if there are none."""
        if not self.change.reason:
            return ""
        return f"IBM Streams refuses this while the application runs (A43): {self.change.reason}."

    @property
    def restarts(self) -> str:
        """A sentence with the number of PEs that restart."""
        return f"{plural(len(self.change.pes.restart), 'PE')} would restart; the others keep running."


def compare(old: PlannedCompilation, new: PlannedCompilation, running: PlannedCompilation) -> Comparison:
    """Return the changes from one plan to another of the same application.

    Args:
        old: the plan as compiled.
        new: the other plan as compiled.
        running: `old` with its run-time numbers; `old` itself if the application is not deployed.

    Raises:
        ImplementationError: a class of an operator cannot be imported.
        ValueError: the time zone changes and the filter of an Import is wrong.
    """
    change = width_change(running, as_deployed(new, running))
    outcome = _redeployed(old, running, new)
    return Comparison(change, outcome, event_time_changes(old, new))


def _redeployed(old: PlannedCompilation, running: PlannedCompilation, new: PlannedCompilation) -> Redeployment | None:
    if old.deployment.refusal or new.deployment.refusal:
        return None
    return replace(preview(running, new), before=fingerprint(old))


def width_rows(change: WidthChange) -> list[tuple[str, str, str]]:
    """Return a row for each parallel region whose width changes: `width`, the region, both widths as in `2 -> 4`."""
    return [("width", each.region, f"{each.old} -> {each.new}") for each in change.widths]


def plain_rows(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return table rows of changed operators, event times and PEs, for an application that only compiles.

    Of operators and of renamings, only some are named.
    """
    change = comparison.change
    added = [each.name for each in change.added]
    rows = [
        ("operators", what, f"{len(names)}" + (f"  {short_list(names, _MANY_NAMES_WIDTH)}" if names else ""))
        for what, names in (("changed", change.changed), ("added", added), ("removed", change.removed))
    ]
    if change.renamed:
        old, new = change.renamed[0]
        more = " ..." * (len(change.renamed) > 1)
        rows.append(("", "renamed", f"{len(change.renamed)}  {old} -> {new}{more}"))
    rows += [("event time", each.operator, each.text) for each in comparison.event_time]
    pes = change.pes
    for what, ids in (("start", pes.start), ("stop", pes.stop), ("run on", pes.kept)):
        rows.append(("PEs", what, f"{len(ids)}" + (f"  {_ranges(ids)}" if ids else "")))
    rows.append(("PEs", "restart", f"{len(pes.restart)}"))
    return rows


def restart_rows(change: WidthChange) -> list[tuple[str, str]]:
    """Return rows of the PEs that restart, with the reasons."""
    return [(f"PE {each.pe}", "; ".join(each.why)) for each in change.pes.restart]


def outcome_rows(outcome: Redeployment) -> list[tuple[str, str, str, str, str, str]]:
    """Return rows of the changes of units and operators; unchanged operators are only counted.

    Operators that follow one another with the same change are one row, in which as many are named as fit.
    """
    rows = [("unit", unit.unit, str(unit.action), "", "", "") for unit in outcome.units]
    stay = [each for each in outcome.operators if each.action == "kept" and not each.converted and not each.changed]
    changed = (each for each in outcome.operators if each not in stay)
    for (action, reason), group in groupby(changed, lambda each: (each.action, each.text)):
        same = list(group)
        names = short_list([each.operator for each in same], _NAMES_WIDTH)
        rows.append(("operator" if len(same) == 1 else "operators", names, action, *_amounts(same), reason))
    if stay:
        who = f"all {len(stay)}" if len(stay) == len(outcome.operators) else plural(len(stay), "other")
        rows.append(("operators", who, "kept", "", "", "their state stays where it is"))
    return rows


def pause(outcome: Redeployment) -> str:
    """Return a sentence with the predicted pause of the changed units.

    The text is empty if no pause was predicted, or if the pause has already been measured.
    """
    if outcome.predicted_seconds is None or outcome.measured_seconds is not None:
        return ""
    return f"Changed units pause for about {outcome.predicted_seconds:.1f} s."


def _amounts(actions: Sequence[OperatorAction]) -> tuple[str, str]:
    """Return the total rows and bytes of several states as texts; a text is empty if one amount is unknown."""
    return _sum([each.rows for each in actions]), _sum([each.bytes for each in actions])


def _sum(numbers: Sequence[int | None]) -> str:
    known = [each for each in numbers if each is not None]
    return f"{sum(known):,}" if len(known) == len(numbers) else ""


def _ranges(numbers: tuple[int, ...]) -> str:
    """Return numbers as ranges: `0-2, 5`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)
