"""Shows the metrics of an application on a terminal: the remarkable facts, or all of them in tables."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.model.brief import count, duration, plural
from streams_orchestration.operators.contract.metrics import LAG_SECONDS, LAG_TUPLES
from streams_orchestration.runtime import api

BUSIEST = 3
"""The most operators that are named as the busiest."""
IDLE_CORES = 0.01
"""Share of a processor below which an operator is not named among the busiest."""
BEHIND_SEGMENTS = 8
"""Segments of lag from which a reader is named; at 32 its producer waits for it."""
POINTED_AT = ("dropped", "errors", "late_rows", "late_dropped", "ahead")
"""Custom metrics that are named if they are not 0."""


def facts(metrics: api.ApplicationMetrics) -> Iterator[Text]:
    """Yield a line for the busiest operators, and one for each reader that is far behind, source and kind of loss.

    A source has a line if its system has tuples that it has not read.
    """
    busy = sorted(metrics.operators, key=lambda operator: -(operator.cores or 0.0))[:BUSIEST]
    if named := [f"{each.name} {each.cores:.0%}" for each in busy if (each.cores or 0.0) >= IDLE_CORES]:
        yield Text(f"busiest  {', '.join(named)} of a processor", "dim")
    for stream in metrics.streams:
        for reader in (each for each in stream.readers if each.lag_segments >= BEHIND_SEGMENTS):
            behind = f"{plural(reader.lag_segments, 'segment')}, {plural(reader.lag_tuples, 'tuple')}"
            age = duration(reader.lag_seconds)
            held = reader.lag_segments >= api.OUTSTANDING_LIMIT
            waits = f"; from {api.OUTSTANDING_LIMIT} segments on PE {stream.pe} waits for it" if held else ""
            yield Text(f"behind  PE {reader.pe} reads {stream.name}: {behind}, the oldest {age} old{waits}", "yellow")
    for operator in metrics.operators:
        own = {metric.name: metric.value for metric in operator.custom}
        if own.get(LAG_TUPLES):
            lag = f"{plural(int(own[LAG_TUPLES]), 'tuple')}, {duration(own.get(LAG_SECONDS, 0.0))}"
            yield Text(f"behind  {operator.name}: {lag}", "yellow")
    yield from (Text(line, "yellow") for line in losses(metrics))


def losses(metrics: api.ApplicationMetrics) -> Iterator[str]:
    """Yield a line for each operator and each metric in `POINTED_AT` that is not 0, such as dropped tuples."""
    for operator in metrics.operators:
        for metric in operator.custom:
            if metric.name in POINTED_AT and metric.value:
                yield f"{metric.name}  {count(metric.value)} by {operator.name}"


def metrics_tables(metrics: api.ApplicationMetrics) -> RenderableType:
    """Return tables of everything that was measured, without empty ones; a sentence if there is nothing."""
    if not metrics.measured:
        return Text("Measuring was off when it was deployed (STREAMS_METRICS=off).")
    if not metrics.pes:
        return Text("No metrics are available yet.")
    tables = (
        _pes(metrics),
        _operators(metrics),
        _streams(metrics),
        _queues(metrics),
        _copies(metrics),
        _custom(metrics),
    )
    return Group(*(part for table in tables if table.row_count for part in ("", table)))


def _table(title: str, names: str, figures: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold cyan", box=None, header_style="dim")
    table.padding = (0, 2, 0, 0)
    for name in names.split("|"):
        table.add_column(name, overflow="fold")
    for figure in figures.split("|"):
        table.add_column(figure, justify="right", no_wrap=True)
    return table


def _pes(metrics: api.ApplicationMetrics) -> Table:
    table = _table("Batches, milliseconds each", "PE", "batches|plan|run|its tasks|commit|rows in|rows out|rows/s")
    for pe in metrics.pes:
        shares = (pe.plan_ns, pe.spark_ns, pe.work_ns, pe.commit_ns)
        table.add_row(
            str(pe.pe),
            count(pe.batches),
            *(_average(share / 1e6, pe.batches) for share in shares),
            count(pe.rows_in),
            count(pe.rows_out),
            _rate(pe.rows_per_second),
        )
    return table


def _operators(metrics: api.ApplicationMetrics) -> Table:
    figures = "PE|tuples in|tuples out|MB in|MB out|cpu s|ns/tuple|busy|state kB"
    table = _table("Operators", "operator", figures)
    for operator in metrics.operators:
        taken, sent = _sum(operator.inputs), _sum(operator.outputs)
        table.add_row(
            operator.name,
            str(operator.pe),
            count(taken.tuples) if operator.inputs else "-",
            count(sent.tuples) if operator.outputs else "-",
            f"{taken.bytes / 1e6:,.1f}" if operator.inputs else "-",
            f"{sent.bytes / 1e6:,.1f}" if operator.outputs else "-",
            f"{operator.cpu_ns / 1e9:,.2f}",
            _average(operator.cpu_ns, taken.tuples if operator.inputs else sent.tuples, 0),
            "-" if operator.cores is None else f"{operator.cores:.0%}",
            f"{operator.state_bytes / 1e3:,.1f}" if operator.checkpoints else "-",
        )
    return table


def _streams(metrics: api.ApplicationMetrics) -> Table:
    figures = "PE|tuples|MB|segments|write ns/tuple|to PE|read ns/tuple|behind|oldest"
    table = _table("Streams between PEs", "stream", figures)
    for stream in metrics.streams:
        written = (
            stream.name,
            str(stream.pe),
            count(stream.tuples),
            f"{stream.bytes / 1e6:,.1f}",
            count(stream.segments),
            _average(stream.serialise_ns, stream.tuples, 0),
        )
        for number, reader in enumerate(stream.readers):
            table.add_row(
                *(written if number == 0 else [""] * len(written)),
                str(reader.pe),
                _average(reader.deserialise_ns, reader.tuples, 0),
                plural(reader.lag_tuples, "tuple") if reader.lag_segments else "-",
                duration(reader.lag_seconds) if reader.lag_segments else "-",
            )
    return table


def _queues(metrics: api.ApplicationMetrics) -> Table:
    table = _table("Exchanges within PEs", "before", "port|tuples|MB|wait ms|write ns/tuple|read ns/tuple")
    for queue in metrics.queues:
        table.add_row(
            queue.operator,
            str(queue.port),
            count(queue.tuples),
            f"{queue.bytes / 1e6:,.1f}",
            _average(queue.wait_ns / 1e6, queue.items),
            _average(queue.serialise_ns, queue.tuples, 0),
            _average(queue.deserialise_ns, queue.tuples, 0),
        )
    return table


def _copies(metrics: api.ApplicationMetrics) -> Table:
    table = _table("Copies of batches", "connection", "by the sender|into a queue")
    for connection in metrics.connections:
        table.add_row(connection.name, count(connection.copies), count(connection.enqueued))
    return table


def _custom(metrics: api.ApplicationMetrics) -> Table:
    table = _table("Metrics of operators' own", "operator|metric|about", "value")
    for operator in metrics.operators:
        for metric in operator.custom:
            table.add_row(operator.name, metric.name, metric.description, _value(metric))
    return table


def _value(metric: api.CustomMetric) -> str:
    return count(metric.value) if isinstance(metric.value, int) else f"{metric.value:,.6g}"


def _sum(ports: tuple[api.PortMetrics, ...]) -> api.PortMetrics:
    figures = ("tuples", "batches", "bytes", "marks")
    return api.PortMetrics(0, *(sum(getattr(port, figure) for port in ports) for figure in figures))


def _average(total: float, number: int, digits: int = 1) -> str:
    return f"{total / number:,.{digits}f}" if number else "-"


def _rate(rate: float | None) -> str:
    return "-" if rate is None else count(rate)


def rates(metrics: api.ApplicationMetrics) -> dict[int, float]:
    """Return PE -> its rows a second, over the last minute; a PE without a rate is left out."""
    return {pe.pe: pe.rows_per_second for pe in metrics.pes if pe.rows_per_second is not None}
