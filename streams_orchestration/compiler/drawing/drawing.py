"""Drawings of an application, or of a stage of its compilation: SVG for a browser, text for a terminal."""

from __future__ import annotations

from html import escape
from itertools import pairwise

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.drawing.layout import Point
from streams_orchestration.compiler.drawing.picture import Box, Picture, Wire, picture, short_kind, text_width
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import (
    CopyPlan,
    EventTimeMap,
    FusionPlan,
    ProcessingElement,
    RegionMap,
)
from streams_orchestration.model.brief import plural

REGION_TINTS = (
    ("#e0edff", "#2563eb"),
    ("#dcf5e4", "#15803d"),
    ("#fdebd3", "#c2570c"),
    ("#efe4fd", "#7e22ce"),
    ("#fde2ec", "#be185d"),
    ("#dcf3f7", "#0e7490"),
)
"""The fill and line colours of consistent regions 0, 1, ...; further regions begin with the first colours again."""
AUTONOMOUS = ("#f4f6f8", "#94a3b8")
WIRES = {"": "#475569", "reference": "#475569", "copy": "#d9480f", "enqueue": "#b7791f", "serialize": "#0f172a"}
MEANING = {
    "reference": "by reference",
    "copy": "copied",
    "enqueue": "copied into a queue",
    "serialize": "over the transport",
}
EVENT_TIME = "#0891b2"
"""The colour of clock signs, and of the thin second line along streams with watermarks."""
FONT = "ui-sans-serif, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
LEGEND = 26.0


def draw_svg(drawn: Progress, fitted: float | None = None) -> str:
    """Return the application as a standalone SVG image, with the results of all stages that have run.

    Args:
        drawn: the stages so far, at least the logical graph.
        fitted: the usual width in pixels of the page area that shows the image. A wider image is scaled down to that
            area. None keeps the image's own size.
    """
    shown = picture(drawn)
    legend = _legend(drawn, shown)
    width = max(shown.width, sum(cell for cell, _ in legend) + 32)
    height = shown.height + (LEGEND if legend else 0)
    size = f' width="{width:.0f}" height="{height:.0f}"' if fitted is None else ""
    width = max(width, fitted or 0.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"{size} '
        f'font-family="{FONT}" font-size="11">',
        f"<title>{escape(drawn[LogicalGraph].application)}</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="#ffffff"/>',
        *(_frame(box) for box in shown.frames),
        *(_wire(wire) for wire in shown.wires),
        *(_operator(box, framed=bool(shown.frames)) for box in shown.operators),
        *(_port(point) for point in shown.ports),
        *(_network(point) for point in shown.networks),
    ]
    left = 16.0
    for cell, symbol in legend:
        parts.append(f'<g transform="translate({left:.1f} {shown.height + 4:.1f})">{symbol}</g>')
        left += cell
    return "\n".join([*parts, "</svg>"]) + "\n"


def _frame(box: Box) -> str:
    fill, line = _tint(box.region)
    return (
        f"<g><title>{escape(box.tip)}</title>"
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="10" '
        f'fill="{fill}" stroke="{line}" stroke-opacity="0.55"/>'
        f'<text x="{box.x + 12:.1f}" y="{box.y + 18:.1f}" font-weight="600" fill="{line}">'
        f"{escape(box.lines[0])}</text></g>"
    )


def _operator(box: Box, *, framed: bool) -> str:
    fill, line = _tint(box.region) if box.region >= 0 else ("#ffffff", "#64748b")
    fill = "#ffffff" if framed else fill
    middle = box.x + box.width / 2
    texts = [
        f'<text x="{middle:.1f}" y="{box.y + 21 + 16 * row:.1f}" text-anchor="middle" '
        + ('font-size="13" font-weight="600" fill="#0f172a">' if row == 0 else 'fill="#64748b">')
        + f"{escape(text)}</text>"
        for row, text in enumerate(box.lines)
    ]
    return (
        f"<g><title>{escape(box.tip)}</title>"
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6" '
        f'fill="{fill}" stroke="{line}" stroke-width="1.2"/>{"".join(texts)}'
        f"{_clock(box.x + box.width - 10, box.y + 10) if box.clock else ''}</g>"
    )


def _clock(x: float, y: float) -> str:
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="#ffffff" stroke="{EVENT_TIME}" stroke-width="1.2"/>'
        f'<path d="M{x:.1f} {y - 3:.1f}v3h2.5" fill="none" stroke="{EVENT_TIME}" stroke-width="1.2"/>'
    )


def _port(point: Point) -> str:
    return f'<rect x="{point[0] - 4:.1f}" y="{point[1] - 4:.1f}" width="8" height="8" rx="1.5" fill="#0f172a"/>'


def _network(point: Point) -> str:
    x, y = point
    return (
        "<g><title>Network operator</title>"
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="#ffffff" stroke="#0f172a" stroke-width="1.6"/>'
        f'<path d="M{x - 3:.1f} {y:.1f}h6m-2.4 -2.4l2.4 2.4l-2.4 2.4" fill="none" stroke="#0f172a" '
        'stroke-width="1.4"/></g>'
    )


def _wire(wire: Wire) -> str:
    colour = WIRES[wire.passing]
    points = list(wire.points)
    x, y = points[-1]
    queue = ""
    if wire.queue:
        queue = _queue(x - 21, y)
    if wire.arrow:
        points[-1] = (x - 7, y)
    head = (
        f'<path d="M{x - 8:.1f} {y - 4:.1f}L{x:.1f} {y:.1f}L{x - 8:.1f} {y + 4:.1f}Z" fill="{colour}"/>'
        if wire.arrow
        else ""
    )
    width = 2.0 if wire.passing == "serialize" else 1.4
    dash = ' stroke-dasharray="5 3"' if wire.passing == "copy" else ""
    second = ""
    if wire.event_time:
        beside = _curve([(px, py + 3) for px, py in points])
        second = f'<path d="{beside}" fill="none" stroke="{EVENT_TIME}" stroke-width="0.8"/>'
    return (
        f"<g><title>{escape(wire.tip)}</title>"
        f'<path d="{_curve(points)}" fill="none" stroke="{colour}" stroke-width="{width}"{dash}/>'
        f"{second}{head}{queue}</g>"
    )


def _curve(points: list[Point]) -> str:
    """Return the path of a curve through all points that is horizontal at every point."""
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x1, y1), (x2, y2) in pairwise(points):
        reach = max(abs(x2 - x1) / 2, 24.0 if x2 < x1 else 0.0)
        path.append(f"C{x1 + reach:.1f} {y1:.1f} {x2 - reach:.1f} {y2:.1f} {x2:.1f} {y2:.1f}")
    return "".join(path)


def _queue(x: float, y: float) -> str:
    return "".join(
        f'<rect x="{x + 4.5 * bar:.1f}" y="{y - 6:.1f}" width="3.5" height="12" fill="#fbbf24" stroke="#92600a" '
        'stroke-width="0.8"/>'
        for bar in range(3)
    )


def _tint(region: int) -> tuple[str, str]:
    return REGION_TINTS[region % len(REGION_TINTS)] if region >= 0 else AUTONOMOUS


def _legend(drawn: Progress, shown: Picture) -> list[tuple[float, str]]:
    """Return each entry of the legend as its width and its SVG; it explains only signs that the picture has.

    There are no entries before the expanded graph.
    """
    cells: list[tuple[float, str]] = []

    def add(symbol: str, text: str) -> None:
        label = f'<text x="26" y="4" fill="#475569">{escape(text)}</text>'
        cells.append((text_width(text, 11.0) + 44, symbol + label))

    for region in sorted({box.region for box in shown.operators if box.region >= 0}):
        fill, line = _tint(region)
        add(
            f'<rect x="0" y="-6" width="18" height="12" rx="3" fill="{fill}" stroke="{line}"/>',
            f"consistent region {region}",
        )
    if shown.ports:
        add(_port((9, 0)), "PE port")
    if shown.networks:
        add(_network((9, 0)), "Network operator")
    if any(wire.queue for wire in shown.wires):
        add(_queue(3, 0), "queue")
    used = {wire.passing for wire in shown.wires}
    for passing, text in MEANING.items():
        if passing in used and not (passing == "enqueue" and any(wire.queue for wire in shown.wires)):
            add(_wire(Wire(((0, 0), (20, 0)), passing)), text)  # pyright: ignore[reportArgumentType]
    if any(wire.event_time for wire in shown.wires):
        add(_wire(Wire(((0, 0), (20, 0)), event_time=True)), "with event time")
    if any(box.clock for box in shown.operators):
        add(_clock(9, 0), "event time begins")
    return cells if drawn.get(PhysicalGraph) is not None else []


def draw_text(drawn: Progress) -> str:
    """Return the application as text: every PE with its operators, every operator with its consumers.

    Before fusion the operators are one list.

    Args:
        drawn: the stages so far, at least the logical graph.
    """
    logical, physical = drawn[LogicalGraph], drawn.get(PhysicalGraph)
    fusion, copies, regions = drawn.get(FusionPlan), drawn.get(CopyPlan), drawn.get(RegionMap)
    if physical is None:
        names = [op.name for op in logical.operators]
        kinds = [op.kind for op in logical.operators]
        edges = [(c.source, c.target, "", "") for c in logical.connections]
    else:
        names = [op.name for op in physical.operators]
        kinds = [logical.operators[op.logical].kind for op in physical.operators]
        passings = [c.passing for c in copies.connections] if copies else [""] * len(physical.connections)
        networks = fusion.networks if fusion else ()
        pe_of = fusion.pe_of if fusion else ()
        timed = {
            number for each in (drawn.get(EventTimeMap) or EventTimeMap()).operators for number in each.connections
        }
        sent = {(*pair.outputs[0][:2], pair.receiver) for pair in networks}
        edges = [
            (
                *(c.source, c.target, passing, f"channel {c.channel}" if c.splitter >= 0 else ""),
                "Network" if sent and (c.source, c.source_port, pe_of[c.target]) in sent else "",
                "event time" if number in timed else "",
            )
            for number, (c, passing) in enumerate(zip(physical.connections, passings, strict=True))
        ]
    region_of = regions.region_of if regions else ()
    groups = [(_place(pe), pe.operators) for pe in fusion.pes] if fusion else []
    groups = groups or [("", tuple(range(len(names))))]
    width = max((len(name) for name in names), default=0)
    places = f" in {plural(len(groups), 'PE')}" if fusion else ""
    lines = [f"{logical.application}: {plural(len(names), 'operator')}{places}"]
    for title, members in groups:
        regions = sorted({region_of[op] for op in members if region_of[op] >= 0}) if region_of else []
        if title:
            lines += ["", title + "".join(f", consistent region {region}" for region in regions)]
        for op in members:
            lines.append(f"  {names[op]:<{width}}  {short_kind(kinds[op])}")
            for source, target, *how in edges:
                if source == op:
                    remarks = ", ".join(part for part in how if part)
                    lines.append(f"  {'':<{width}}    → {names[target]}" + (f"  ({remarks})" if remarks else ""))
    return "\n".join(lines) + "\n"


def _place(pe: ProcessingElement) -> str:
    part = f", machine {pe.machine} of PE {pe.origin}" if pe.origin >= 0 else ""
    return f"PE {pe.id}{part}, host {pe.host}"
