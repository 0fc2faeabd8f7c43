"""A drawing of the timeline of an application's units: their cuts, their failures, and their resets by phase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

from streams_orchestration.compiler.drawing.drawing import FONT
from streams_orchestration.model.brief import plural
from streams_orchestration.model.short_texts import shortened
from streams_orchestration.runtime import api

WIDTH, MARGIN = 960.0, 16.0
LABEL, LANE = 140.0, 58.0
ROW = 34.0
SPAN = 900.0
"""The most seconds that the upper part shows. It begins earlier if the last recovery of a unit began before that."""
MAX_DRAWN_RECOVERIES = 8
"""The most recoveries of a unit whose phases are drawn, counted back from the last recovery."""
GRID_SECONDS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400)
INK, FAINT, LINE = "#0f172a", "#64748b", "#cbd5e1"
WORKS, BROKEN, CUT, LOST, UNKNOWN = "#dcf5e4", "#fde2ec", "#15803d", INK, "#f1f5f9"
PHASES = {
    "detect": ("#dc2626", "until the failure is noticed"),
    "decide": ("#d97706", "until the reset is taken up"),
    "hosts": ("#a16207", "until all hosts run, and are back at the cut"),
    "restart": ("#2563eb", "until every PE runs"),
    "first commit": ("#7e22ce", "until the first commit"),
}
"""(colour, meaning) of each phase of a recovery."""


@dataclass(frozen=True, slots=True)
class _Lane:
    unit: api.UnitStatus
    cuts: tuple[api.Cut, ...]
    recoveries: tuple[api.Recovery, ...]

    @property
    def listed(self) -> tuple[api.Recovery, ...]:
        return self.recoveries[-MAX_DRAWN_RECOVERIES:]

    @property
    def known(self) -> float | None:
        """The time, in unix seconds, before which the unit's epochs are unknown; None if all are known, or none is."""
        return self.cuts[0].completed_at - self.cuts[0].seconds if self.cuts and self.cuts[0].epoch > 1 else None

    @property
    def losses(self) -> tuple[api.UnitEventRow, ...]:
        return tuple(event for event in self.unit.events if event.kind == "cut lost")


def draw_timeline(status: api.ApplicationStatus, cuts: Mapping[str, Sequence[api.Cut]], now: float) -> str:
    """Return an SVG image of each unit's work, epochs and failures over time, and below it the duration of each reset.

    Only regions, and units that were reset, are drawn; without any, a sentence says so. The last `MAX_DRAWN_RECOVERIES`
    resets of a unit are drawn. `cuts` has the last complete epochs of each unit. The time axis ends at `now`, in unix
    seconds, or at the last commit if the application has ended.
    """
    if status.state not in ("RUNNING", "WAITING"):
        now = max((pe.row.committed_at for pe in status.pes if pe.row.committed_at is not None), default=now)
    lanes = [
        _Lane(unit, tuple(cuts.get(unit.name, ())), api.find_recoveries(unit.events))
        for unit in status.units
        if unit.row.region is not None or unit.row.reset_count
    ]
    begin, end = _span(status, lanes, now)
    top = 44.0
    rows = sum(len(lane.listed) for lane in lanes)
    axis = top + LANE * len(lanes)
    below = axis + 46.0
    height = below + (ROW * rows + 44.0 if rows else 0.0) + 40.0
    where = datetime.fromtimestamp(begin, UTC), datetime.fromtimestamp(end, UTC)
    until = f"{where[1]:%H:%M:%S}" if where[0].date() == where[1].date() else f"{where[1]:%Y-%m-%d %H:%M:%S}"
    span = f"{where[0]:%Y-%m-%d %H:%M:%S} to {until} UTC"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height:.0f}" width="{WIDTH:.0f}" '
        f'height="{height:.0f}" font-family="{FONT}" font-size="11">',
        f"<title>{escape(status.application)}</title>",
        f'<rect width="{WIDTH:.0f}" height="{height:.0f}" rx="8" fill="#ffffff"/>',
        _text(MARGIN, 24, f"{status.application}: {status.shown_state}", size=13, weight=600),
        _text(WIDTH - MARGIN, 24, span, colour=FAINT, anchor="end"),
    ]
    for number, lane in enumerate(lanes):
        parts += _lane(lane, top + LANE * number, begin, end)
    if lanes:
        parts += _axis(axis, begin, end)
    else:
        parts.append(_text(MARGIN, top + 20, "no consistent region, and nothing was reset", colour=FAINT))
    if rows:
        parts += _durations(lanes, below, end)
    parts += _legend(height - 14.0)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _span(status: api.ApplicationStatus, lanes: Sequence[_Lane], now: float) -> tuple[float, float]:
    """Return the begin and the end of the upper part in unix seconds.

    It shows at most `SPAN` seconds, from the first known event on, and never cuts off a unit's last recovery.
    """
    known = [cut.completed_at - cut.seconds for lane in lanes for cut in lane.cuts[:1]]
    known += [recovery.began for lane in lanes for recovery in lane.recoveries]
    last = [lane.recoveries[-1] for lane in lanes if lane.recoveries]
    begin = max(min(known, default=status.deployed_at), now - SPAN)
    shown = [recovery.began for recovery in last if recovery.ended is None or recovery.ended > begin]
    begin = min([begin, *shown]) - 1.0
    return begin, max(now, begin + 10.0)


def _lane(lane: _Lane, top: float, begin: float, end: float) -> Iterator[str]:
    unit = lane.unit
    y = top + 6.0
    height = 26.0

    def x(at: float) -> float:
        return LABEL + (min(max(at, begin), end) - begin) / (end - begin) * (WIDTH - MARGIN - LABEL)

    def bar(since: float, until: float, colour: str, tip: str, thick: float = height) -> str:
        width = max(x(until) - x(since), 1.5)
        return (
            f'<g><title>{escape(tip)}</title><rect x="{x(since):.1f}" y="{y + (height - thick) / 2:.1f}" '
            f'width="{width:.1f}" height="{thick:.1f}" fill="{colour}"/></g>'
        )

    yield _text(MARGIN, y + 12, unit.name, weight=600)
    yield _text(MARGIN, y + 26, _facts(unit), colour=FAINT, size=10)
    yield bar(begin, end, WORKS, "it works")
    if lane.known is not None and lane.known > begin:
        yield bar(begin, lane.known, UNKNOWN, "earlier epochs are not kept")
    for number, recovery in enumerate(lane.recoveries):
        follow = lane.recoveries[number + 1].began if number + 1 < len(lane.recoveries) else end
        until = recovery.ended or follow
        if until < begin:
            continue
        yield bar(recovery.began, until, BROKEN, recovery.cause or "reset")
        at = recovery.began
        for phase, seconds in recovery.phases.items():
            if at + seconds > begin:
                tip = f"{phase} {seconds:.1f} s: {PHASES[phase][1]}"
                yield bar(max(at, begin), at + seconds, PHASES[phase][0], tip, 14.0)
            at += seconds
    for cut in lane.cuts:
        if cut.completed_at < begin:
            continue
        tip = f"epoch {cut.epoch} complete, {cut.seconds:.2f} s after it began to drain"
        yield (
            f"<g><title>{escape(tip)}</title>"
            f'<rect x="{x(cut.completed_at) - 0.6:.1f}" y="{y - 3:.1f}" width="1.2" height="{height + 6:.1f}" '
            f'fill="{CUT}"/></g>'
        )
    if lane.cuts and lane.cuts[-1].completed_at >= begin:
        cut = lane.cuts[-1]
        yield _text(x(cut.completed_at), y + height + 13, f"epoch {cut.epoch}", colour=CUT, size=10, anchor="end")
    for loss in lane.losses:
        if loss.at >= begin:
            middle = x(loss.at)
            yield (
                f"<g><title>{escape(loss.cause or 'the cut is lost')}</title>"
                f'<path d="M{middle - 5:.1f} {y - 3:.1f}h10l-5 8z" fill="{LOST}"/></g>'
            )


def _facts(unit: api.UnitStatus) -> str:
    return f"epoch {unit.completed_epoch}, {plural(unit.row.reset_count, 'reset')}"


def _axis(y: float, begin: float, end: float) -> Iterator[str]:
    step = next((step for step in GRID_SECONDS if (end - begin) / step <= 9), GRID_SECONDS[-1])
    yield f'<path d="M{LABEL:.1f} {y:.1f}H{WIDTH - MARGIN:.1f}" stroke="{LINE}"/>'
    at = begin - begin % step + step
    while at < end:
        x = LABEL + (at - begin) / (end - begin) * (WIDTH - MARGIN - LABEL)
        yield f'<path d="M{x:.1f} {y:.1f}v5" stroke="{LINE}"/>'
        yield _text(x, y + 18, f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}", colour=FAINT, size=10, anchor="middle")
        at += step


def _durations(lanes: Sequence[_Lane], top: float, end: float) -> Iterator[str]:
    """Yield the SVG elements of the lower part: one bar for each of the last recoveries, all on one scale."""
    longest = max((sum(each.phases.values()) for lane in lanes for each in lane.listed), default=0.0) or 1.0
    room = WIDTH - 2 * MARGIN - LABEL - 140.0
    yield _text(MARGIN, top + 4, "Recoveries", weight=600, size=12)
    y = top + 20.0
    for lane in lanes:
        for recovery in lane.listed:
            phases = recovery.phases
            began = datetime.fromtimestamp(recovery.began, UTC)
            day = "" if began.date() == datetime.fromtimestamp(end, UTC).date() else f"{began:%d %b} "
            yield _text(MARGIN, y + 11, lane.unit.name, weight=600)
            yield _text(MARGIN, y + 24, f"{day}{began:%H:%M:%S}, epoch {recovery.epoch}", colour=FAINT, size=10)
            x = LABEL + 10.0
            for phase, seconds in phases.items():
                width = seconds / longest * room
                tip = f"{phase} {seconds:.2f} s: {PHASES[phase][1]}"
                yield (
                    f'<g><title>{escape(tip)}</title><rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="13" '
                    f'fill="{PHASES[phase][0]}"/></g>'
                )
                if width > 30:
                    yield _text(x + width / 2, y + 10, f"{seconds:.1f}", colour="#ffffff", size=10, anchor="middle")
                x += width
            yield _text(x + 6, y + 10, f"{sum(phases.values()):.1f} s{_outcome(recovery)}")
            cause = shortened(" ".join((recovery.cause or "it was requested").split()), 140)
            yield _text(LABEL + 10, y + 25, cause, colour=FAINT, size=10)
            y += ROW


def _outcome(recovery: api.Recovery) -> str:
    if recovery.given_up:
        return ", given up"
    return "" if recovery.ended is not None else ", not done"


def _legend(y: float) -> Iterator[str]:
    entries = [
        (CUT, "epoch complete"),
        *((colour, name) for name, (colour, _) in PHASES.items()),
        (LOST, "cut lost"),
        (UNKNOWN, "epochs not kept"),
    ]
    x = MARGIN
    for colour, name in entries:
        edge = LINE if colour == UNKNOWN else colour
        yield (f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="10" height="10" rx="2" fill="{colour}" stroke="{edge}"/>')
        yield _text(x + 14, y, name, colour=FAINT)
        x += 30.0 + 6.2 * len(name)


def _text(
    x: float, y: float, text: str, *, colour: str = INK, size: int = 11, weight: int = 400, anchor: str = "start"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )
