"""What a user sees of a stage in Dagster: counts, tables, a drawing. Small: the document itself lies in the store."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import dagster as dg

from streams_orchestration.compiler.drawing.drawing import draw_svg
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.orchestration.stages import (
    COPIES,
    FUSION,
    LOGICAL,
    PARALLEL,
    REGIONS,
    THREADS,
    Progress,
    need,
)

MOST_ROWS = 100
"""Rows that a table shows at most; events are kept for ever."""
MOST_DRAWN = 120
"""Operators beyond which a drawing is of no use."""

Metadata = dict[str, dg.MetadataValue]


def summarise(stage: str, done: Progress, path: Path) -> Metadata:
    """The metadata of a stage's materialization.

    Args:
        stage: its name.
        done: the results up to this stage.
        path: where its document is stored.
    """
    metadata = SUMMARIES[stage](done) | drawing(stage, done)
    metadata["streams/document"] = dg.MetadataValue.path(path)
    return metadata


def drawing(title: str, done: Progress) -> Metadata:
    """A picture of what there is of a compilation; nothing of one that is too large for it."""
    if len((done.physical or done.logical).operators) > MOST_DRAWN:
        return {}
    image = base64.b64encode(draw_svg(done).encode()).decode()
    return {"streams/drawing": dg.MetadataValue.md(f"![{title}](data:image/svg+xml;base64,{image})")}


def diagnostics_table(diagnostics: Iterable[Diagnostic]) -> dg.MetadataValue:
    """Errors and warnings with what to do about them."""
    return _table(
        ("severity", "code", "operator", "message", "location", "remedy"),
        [(d.severity, d.code, d.operator, d.message, d.location, d.remedy) for d in diagnostics],
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> dg.MetadataValue:
    kept = rows[:MOST_ROWS]
    kinds = {
        column: "int" if kept and all(type(row[place]) is int for row in kept) else "string"
        for place, column in enumerate(columns)
    }
    records = [
        dg.TableRecord(
            {c: v if type(v) is int and kinds[c] == "int" else str(v) for c, v in zip(columns, row, strict=True)}
        )
        for row in kept
    ]
    return dg.MetadataValue.table(records, dg.TableSchema([dg.TableColumn(c, kinds[c]) for c in columns]))


def _logical(done: Progress) -> Metadata:
    graph = done.logical
    metadata: Metadata = {
        "streams/operators": dg.MetadataValue.int(len(graph.operators)),
        "streams/connections": dg.MetadataValue.int(len(graph.connections)),
        "streams/parallel_regions": dg.MetadataValue.int(len(graph.regions)),
        "streams/kinds": dg.MetadataValue.json(dict(sorted(Counter(op.kind for op in graph.operators).items()))),
    }
    if graph.submission:
        metadata["streams/submission"] = dg.MetadataValue.json(graph.submission)
    return metadata


def _parallel(done: Progress) -> Metadata:
    graph = need(done.physical)
    metadata: Metadata = {
        "streams/operators": dg.MetadataValue.int(len(graph.operators)),
        "streams/connections": dg.MetadataValue.int(len(graph.connections)),
        "streams/splitters": dg.MetadataValue.int(len(graph.splitters)),
    }
    if done.logical.regions:
        rows = [(region.name, region.width) for region in done.logical.regions]
        metadata["streams/widths"] = _table(("region", "width"), rows)
    if graph.splitters:
        rows = [
            (
                splitter.id,
                f"{graph.operators[splitter.operator].name}[{splitter.port}]",
                splitter.region_port,
                splitter.policy,
                ", ".join(splitter.attributes),
                splitter.width,
            )
            for splitter in graph.splitters
        ]
        columns = ("splitter", "output port", "region port", "policy", "attributes", "width")
        metadata["streams/splitter_table"] = _table(columns, rows)
    return metadata


def _regions(done: Progress) -> Metadata:
    regions, operators = need(done.regions), need(done.physical).operators
    rows = [
        (
            region.index,
            region.trigger if region.period is None else f"every {region.period:g} s",
            len(region.operators),
            ", ".join(operators[op].name for op in region.starts),
            ", ".join(operators[op].name for op in region.ends),
            region.max_consecutive_reset_attempts,
        )
        for region in regions.expanded
    ]
    columns = ("region", "trigger", "operators", "starts", "ends", "reset attempts")
    return {
        "streams/regions": dg.MetadataValue.int(len(regions.expanded)),
        "streams/autonomous_operators": dg.MetadataValue.int(sum(region < 0 for region in regions.region_of)),
        "streams/region_table": _table(columns, rows),
    }


def _fusion(done: Progress) -> Metadata:
    fusion, operators = need(done.fusion), need(done.physical).operators
    rows = [
        (pe.id, pe.host, len(pe.inputs), len(pe.outputs), ", ".join(operators[op].name for op in pe.operators))
        for pe in fusion.pes
    ]
    parts = [
        (pe.origin, pe.machine, pe.id, ", ".join(operators[op].name for op in pe.operators))
        for pe in fusion.pes
        if pe.origin >= 0
    ]
    networks = [
        (f"{operators[each.outputs[0].operator].name}[{each.outputs[0].port}]", each.sender, each.receiver)
        for each in fusion.networks
    ]
    decoupled: Metadata = {
        "streams/parts_table": _table(("was PE", "machine", "PE", "operators"), parts),
        "streams/network_table": _table(("sent from", "by PE", "to PE"), networks),
    }
    return {
        **(decoupled if parts else {}),
        "streams/pes": dg.MetadataValue.int(len(fusion.pes)),
        "streams/hosts": dg.MetadataValue.int(len({pe.host for pe in fusion.pes})),
        "streams/scheme": dg.MetadataValue.text(fusion.scheme),
        "streams/pe_table": _table(("PE", "host", "input ports", "output ports", "operators"), rows),
    }


def _threads(done: Progress) -> Metadata:
    threads, operators = need(done.threads), need(done.physical).operators
    metadata: Metadata = {
        "streams/queues": dg.MetadataValue.int(len(threads.queues)),
        "streams/injected_queues": dg.MetadataValue.int(sum(queue.injected for queue in threads.queues)),
        "streams/locked_operators": dg.MetadataValue.int(sum(op.locked for op in threads.operators)),
    }
    rows = [
        (
            operators[number].name,
            op.threads,
            "yes" if op.single_threaded_on_inputs else "no",
            "yes" if op.locked else "no",
        )
        for number, op in enumerate(threads.operators)
    ]
    metadata["streams/thread_table"] = _table(("operator", "threads", "single-threaded", "locked"), rows)
    return metadata


def _copies(done: Progress) -> Metadata:
    copies, graph = need(done.copies), need(done.physical)
    rows = [
        (
            f"{graph.operators[c.source].name}[{c.source_port}]",
            f"{graph.operators[c.target].name}[{c.target_port}]",
            passing.passing,
            passing.reason,
        )
        for c, passing in zip(graph.connections, copies.connections, strict=True)
    ]
    return {
        "streams/sender_copies": dg.MetadataValue.int(copies.sender_copies),
        "streams/enqueue_copies": dg.MetadataValue.int(copies.enqueue_copies),
        "streams/copies_eliminated": dg.MetadataValue.int(copies.eliminated),
        "streams/passing_table": _table(("from", "to", "passing", "reason"), rows),
    }


SUMMARIES: Mapping[str, Callable[[Progress], Metadata]] = {
    LOGICAL: _logical,
    PARALLEL: _parallel,
    REGIONS: _regions,
    FUSION: _fusion,
    THREADS: _threads,
    COPIES: _copies,
}
