"""`streams status`: what the deployed applications are doing."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streams_orchestration.cli.options import format_option

if TYPE_CHECKING:
    from rich.console import RenderableType

    from streams_orchestration.runtime.observing.metrics import ApplicationMetrics
    from streams_orchestration.runtime.observing.status import ApplicationStatus
    from streams_orchestration.runtime.sinks.sinks import SinkStatus
    from streams_orchestration.runtime.storage.home import Home


@click.command()
@click.argument("application", metavar="[APP]", required=False)
@click.option("--metrics", "measured", is_flag=True, help="Also everything that was measured; JSON always has it.")
@click.option(
    "--timeline",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.svg",
    help="Draw its regions' cuts, failures and resets over time into a file instead.",
)
@format_option
def status(application: str | None, timeline: Path | None, format_: str, *, measured: bool) -> None:
    """Show what one application does, or all that are deployed."""
    import time

    from streams_orchestration.runtime.observing.metrics_reading import read_metrics
    from streams_orchestration.runtime.observing.reading import read_status
    from streams_orchestration.runtime.storage.home import Home
    from streams_orchestration.runtime.units.reading import deployed_applications

    if measured and application is None:
        message = "--metrics is of one application. Write `streams status APP --metrics`."
        raise click.UsageError(message)
    if timeline is not None:
        if application is None:
            message = "--timeline is of one application. Write `streams status APP --timeline FILE.svg`."
            raise click.UsageError(message)
        _draw(Home.default(), application, timeline)
        return

    home = Home.default()
    names = [application] if application else deployed_applications(home)
    statuses = [read_status(home, name) for name in names]
    now = time.time()
    if format_ == "json":
        found = [document(status, read_metrics(home, status.application, now), now) for status in statuses]
        text = json.dumps(found[0] if application else found, indent=2, ensure_ascii=False, default=str)
        click.echo(text)
        return
    from streams_orchestration.cli.terminal import results

    console = results()
    if application:
        metrics = read_metrics(home, application, now)
        console.print(details(statuses[0], now, metrics))
        if measured:
            from streams_orchestration.cli.metrics import metrics_tables

            console.print(metrics_tables(metrics))
    elif statuses:
        console.print(overview(statuses, now))
    else:
        click.echo(f"Nothing is deployed in {home.root}. `streams run SPEC` runs an application.", err=True)


def _draw(home: Home, application: str, place: Path) -> None:
    import time

    from streams_orchestration.cli.options import write_output
    from streams_orchestration.orchestration.timeline import draw_timeline
    from streams_orchestration.runtime.observing.reading import read_cuts, read_status

    found = read_status(home, application)
    write_output(draw_timeline(found, read_cuts(home, application), time.time()), place, "--timeline")


def status_if_deployed(home: Home, application: str) -> ApplicationStatus | None:
    """The status of an application, None when it was never deployed here."""
    from streams_orchestration.runtime.errors import NotDeployedError
    from streams_orchestration.runtime.observing.reading import read_status

    try:
        return read_status(home, application)
    except NotDeployedError:
        return None


def document(status: ApplicationStatus, metrics: ApplicationMetrics, now: float) -> dict[str, Any]:
    """The status as a JSON document, with what has failed and what was measured."""
    from streams_orchestration.runtime.units.failures import failures

    failed = [asdict(failure) for failure in failures(status, now)]
    found = {**asdict(status), "failures": failed, "metrics": asdict(metrics)}
    for described, unit in zip(found["units"], status.units, strict=True):
        described |= {
            "phases": unit.phases,
            "average_drain_seconds": unit.drain_times.average,
            "average_reset_seconds": unit.reset_times.average,
        }
    return found


def details(status: ApplicationStatus, now: float, metrics: ApplicationMetrics) -> RenderableType:
    """One application: progress, hosts, results, what stands out of its metrics, and what to do about failures."""
    from rich.console import Group
    from rich.text import Text

    from streams_orchestration.cli.connections import connection_lines
    from streams_orchestration.cli.metrics import facts, rates
    from streams_orchestration.cli.names import duration
    from streams_orchestration.cli.progress import progress_table
    from streams_orchestration.cli.regions import region_lines
    from streams_orchestration.cli.tasks import tasks_table
    from streams_orchestration.runtime.hosts.start_up import in_words
    from streams_orchestration.runtime.units.failures import failures

    failed = failures(status, now)
    told = {failure.unit for failure in failed}
    lines: list[RenderableType] = [progress_table(status, rates(metrics), now, told), *facts(metrics)]
    lines += [Text(), *region_lines(status, now, told)]
    lines += [Text(), tasks_table(status), Text()]
    for host in status.hosts:
        process = f"pid {host.pid}{'' if host.alive else ' (gone)'}" if host.pid is not None else "no process"
        took = f"; start-up {in_words(host.start_up)}" if host.start_up else ""
        lines.append(Text(f"host {host.id}  {host.state}, {process}{took}", "dim"))
    for sink in status.sinks:
        lines.append(Text.assemble((sink.operator, "bold"), f"  {_visible(sink)}  {sink.path or sink.place}"))
        if sink.error is not None:
            lines.append(Text(f"{sink.error}. Failed {duration(now - (sink.failed_at or now))} ago.", "red"))
    lines += connection_lines(status)
    lines.append(Text(f"logs  {status.logs}", "dim"))
    for failure in failed:
        log = "" if str(failure.log) in failure.reason else f" Log: {failure.log}."
        lines.append(Text(f"{failure.unit}: {failure.reason.rstrip('.')}.{log} {failure.remedy}", "red"))
    return Group(*lines)


def _visible(sink: SinkStatus) -> str:
    """What of a sink can be seen, what a reset would take back, and what waits."""
    from streams_orchestration.cli.names import plural

    parts = [f"{plural(sink.rows, 'row')} in {plural(sink.files, 'epoch' if sink.path is None else 'file')}"]
    if sink.uncommitted:
        parts.append(f"{plural(sink.uncommitted, 'file')} of them uncommitted")
    if sink.waiting:
        late = f", {sink.late} of them late" if sink.late else ""
        parts.append(f"{plural(sink.waiting_rows, 'row')} in {plural(sink.waiting, 'file')} waiting{late}")
    return "; ".join(parts)


def overview(statuses: list[ApplicationStatus], now: float) -> RenderableType:
    """A line for every application."""
    from rich.table import Table

    from streams_orchestration.cli.names import count, duration
    from streams_orchestration.cli.progress import styled_state
    from streams_orchestration.runtime.units.failures import failures

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("application", "state", "deployed", "PEs", "epoch", "rows in", "failed"):
        table.add_column(title, justify="right" if title in ("PEs", "epoch", "rows in") else "left")
    for status in statuses:
        table.add_row(
            status.application,
            styled_state(status.state),
            f"{duration(now - status.deployed_at)} ago",
            str(len(status.pes)),
            str(min((unit.completed_epoch for unit in status.units), default=0)),
            count(sum(pe.rows_in for pe in status.pes)),
            ", ".join(failure.unit for failure in failures(status, now)) or "-",
        )
    return table
