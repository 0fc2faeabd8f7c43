"""Summaries of a stage for Dagster: counts, tables, a drawing. They are small; the store has the whole document."""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path

import dagster as dg

from streams_orchestration.compiler.compilation import Compilation, Progress
from streams_orchestration.compiler.drawing.drawing import draw_svg
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage import Stage, SummaryRows
from streams_orchestration.compiler.stages import STAGES
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.orchestration.metadata import Metadata, table

MOST_ROWS = 100
"""The most rows of a table, since Dagster keeps events for ever."""
MOST_DRAWN, MOST_DESCRIBED = 120, 40
"""The most operators of an application that is drawn in metadata, and of an application that is drawn in descriptions.
"""
DESCRIPTION_WIDTH = 900.0
"""Width of a description, in pixels, on Dagster's page of an asset in a usual window."""


def summarise(stage: Stage, done: Progress, path: Path) -> Metadata:
    """Return the metadata of a stage's materialization."""
    summary = stage.summary(done).items()
    facts = {f"streams/{name}": _table(each) if isinstance(each, SummaryRows) else each for name, each in summary}
    return {**facts, **drawing(stage.name, done), "streams/document": path}


def drawing(title: str, done: Progress) -> Metadata:
    """Return metadata with a drawing of the stages compiled so far; nothing if the graph is too large."""
    if len((done.get(PhysicalGraph) or done[LogicalGraph]).operators) > MOST_DRAWN:
        return {}
    return {"streams/drawing": dg.MetadataValue.md(image(title, draw_svg(done)))}


def pictures(compilation: Compilation) -> dict[str, str]:
    """Return stage -> a Markdown image of the application after it, for the description of its asset.

    The result is empty for a large application. Dagster shows an image in a description at once, but an image in
    metadata only after a click.
    """
    if len(compilation.physical.operators) > MOST_DESCRIBED:
        return {}
    whole, done, images = compilation.progress, Progress(compilation.options), dict[str, str]()
    for stage in STAGES:
        if (result := whole.get(stage.result)) is not None:
            done = done.with_result(result)
        images[stage.name] = image(stage.name, draw_svg(done, DESCRIPTION_WIDTH))
    return images


def image(title: str, svg: str) -> str:
    """Return an SVG image in Markdown."""
    return f"![{title}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"


def check_result(evaluation: dg.AssetCheckEvaluation) -> dg.AssetCheckResult:
    """Convert an evaluation, which only sensors can record, to the result that an op or asset yields for a check."""
    return dg.AssetCheckResult(
        passed=evaluation.passed,
        asset_key=evaluation.asset_key,
        check_name=evaluation.check_name,
        metadata=evaluation.metadata,
        severity=evaluation.severity,
        description=evaluation.description,
    )


def diagnostics_table(diagnostics: Iterable[Diagnostic]) -> dg.MetadataValue:
    """Return a table of the first `MOST_ROWS` diagnostics with their remedies."""
    columns = ("severity", "code", "operator", "message", "location", "remedy")
    rows = [(each.severity, each.code, each.operator, each.message, each.place, each.remedy) for each in diagnostics]
    return _table(SummaryRows(columns, rows))


def _table(summary: SummaryRows) -> dg.MetadataValue:
    kept = summary.rows[:MOST_ROWS]
    kinds = {
        name: "int" if kept and all(type(row[at]) is int for row in kept) else "string"
        for at, name in enumerate(summary.columns)
    }
    rows = [[v if kind == "int" else str(v) for v, kind in zip(row, kinds.values(), strict=True)] for row in kept]
    return table(kinds, rows)
