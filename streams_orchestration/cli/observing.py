"""`streams status`: show the status of the deployed applications."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from streams_orchestration.cli.invocation import current, write_json, write_output
from streams_orchestration.cli.messages import detail, note
from streams_orchestration.cli.metrics import facts, metrics_tables, rates
from streams_orchestration.cli.progress import progress_table, styled_state
from streams_orchestration.cli.regions import region_lines
from streams_orchestration.cli.terminal import results
from streams_orchestration.model.brief import count, duration, moment, plural, short_list
from streams_orchestration.runtime import api

MAX_LISTED_OPERATORS = 30
"""The most operators in the table of event time.

If there are more, the operators with the earliest watermarks are listed.
"""
REFRESH_SECONDS = 2.0
"""Seconds between two checks with `--watch`."""


def connection_lines(status: api.ApplicationStatus) -> Iterator[Text]:
    """Yield a line for every Import and Export, each followed by a line for each of its connections."""
    for link in status.imports:
        yield Text.assemble((link.name, "bold"), f"  imports {link.wants}{'' if link.connections else ': none yet'}")
        for each in link.connections:
            early = ", uncommitted" if each.uncommitted and not each.problem else ""
            yield _line(f"{each.exporter}: {each.stream}{early}", each)
    for link in status.exports:
        early = link.visibility == "read_uncommitted"
        yield Text.assemble(
            (link.name, "bold"), f"  exports {link.stream} as {link.offers}{', uncommitted' if early else ''}"
        )
        for each in link.connections:
            notes = [] if each.waited or each.problem else ["not waited for"]
            if early and not each.uncommitted and not each.problem:
                notes.append("complete epochs only, as it is in a region")
            yield _line(", ".join([f"to {each.importer}, PE {each.pe}", *notes]), each)


def _line(name: str, connection: api.ConnectionStatus) -> Text:
    if connection.problem is not None:
        return Text(f"  {name}: not connected, {connection.problem}", "red")
    behind = f"{plural(connection.lag_tuples, 'tuple')} in {plural(connection.lag_segments, 'segment')} to read"
    line = Text(f"  {name}: {behind if connection.lag_segments else 'all read'}")
    if connection.lost:
        line.append(f", {plural(connection.lost, 'tuple')} lost", "red")
    return line


def tasks_table(status: api.ApplicationStatus) -> Table:
    """Return a table of the tasks in every level of every PE."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("PE", "level", "tasks", "operators a task", "channels a task"):
        table.add_column(title, justify="left" if title.startswith("channels") else "right")
    for pe in status.pes:
        for number, level in enumerate(pe.levels):
            channels = (
                f"{_each(share)} of {plural(share.total, 'channel')} of {region}"
                for region, share in level.channels.items()
            )
            table.add_row(str(pe.id), str(number), str(level.tasks), _each(level.operators), ", ".join(channels) or "-")
    return table


def _each(share: api.Share) -> str:
    return str(share.most) if share.least == share.most else f"{share.least} to {share.most}"


def show_status(application: str | None, timeline: Path | None, format_: str, *, measured: bool, watch: bool) -> None:
    """Show the status of one application, or a line for every deployed one.

    With `timeline`, draw the application's timeline into this file instead. With `watch`, show the status again and
    again until an interrupt.

    Raises:
        UsageError: options cannot be combined, or need a single application; or the drawing cannot be written.
        NotDeployedError: the application is not deployed.
    """
    if watch and (format_ == "json" or timeline is not None):
        other = "--format json is one document" if format_ == "json" else "--timeline is one picture"
        message = f"--watch has no end, and {other}. Leave one of the two out."
        raise click.UsageError(message, click.get_current_context())
    if application is None and (measured or timeline is not None):
        message = (
            "--metrics shows a single application. Write `streams status APP --metrics`."
            if timeline is None
            else "--timeline shows a single application. Write `streams status APP --timeline FILE.svg`."
        )
        raise click.UsageError(message, click.get_current_context())
    home = api.Home.default()
    detail(f"State directory {home.root}")
    current().application = application
    catalog = api.Catalog(home) if application is None else api.open_catalog(home, application)
    if timeline is not None and application is not None:
        _draw(catalog, application, timeline)
        return
    if format_ == "json":
        names = [application] if application else api.list_applications(catalog)
        documents = [status_document(catalog, api.read_status(catalog, name)) for name in names]
        write_json(documents[0] if application else documents)
    elif watch:
        show_repeatedly(lambda: _shown(catalog, application, measured=measured))
    elif application or api.list_applications(catalog):
        results().print(_shown(catalog, application, measured=measured))
    else:
        note(_nothing(home))


def _shown(catalog: api.Catalog, application: str | None, *, measured: bool) -> RenderableType:
    """Return the details of one application, or a table of all deployed ones."""
    if application is None:
        statuses = [api.read_status(catalog, name) for name in api.list_applications(catalog)]
        return overview(statuses, api.now()) if statuses else Text(_nothing(catalog.home))
    status, now = api.read_status(catalog, application), api.now()
    metrics = api.read_metrics(catalog, application, now)
    shown = details(status, now, metrics, api.read_last_redeploy(catalog, application))
    return Group(shown, metrics_tables(metrics)) if measured else shown


def _nothing(home: api.Home) -> str:
    missing = "" if home.root.exists() else ", which does not exist yet"
    return f"Nothing is deployed in {home.root}{missing}. `streams run SPEC` runs an application."


def show_repeatedly(
    render: Callable[[], RenderableType], pause: Callable[[], object] = lambda: time.sleep(REFRESH_SECONDS)
) -> None:
    """Show the result of `render` repeatedly: in place on a terminal, else one below the other.

    While the catalog cannot be used, show the error above the last result.
    """
    console = results()
    last = shown = render()  # an error of the command is reported once, before anything is shown
    with Live(console=console, auto_refresh=False, screen=True) if console.is_terminal else nullcontext() as live:
        while True:
            if live is None:
                console.print(shown, end="\n\n")
            else:
                live.update(shown, refresh=True)
            pause()
            try:
                last = shown = render()
            except api.CatalogUnavailableError as error:
                shown = Group(Text(str(error), "red"), last)


def _draw(catalog: api.Catalog, application: str, place: Path) -> None:
    from streams_orchestration.orchestration.timeline import draw_timeline

    drawn = draw_timeline(api.read_status(catalog, application), api.read_cuts(catalog, application), api.now())
    write_output(drawn, place, "--timeline")


def status_document(catalog: api.Catalog, status: api.ApplicationStatus) -> dict[str, Any]:
    """Return the status document, with the measurements until now.

    Raises NotDeployedError if the application was dropped meanwhile.
    """
    now = api.now()
    redeployed = api.read_last_redeploy(catalog, status.application)
    return {
        **api.build_status_document(status, api.read_metrics(catalog, status.application, now), now),
        "last_redeploy": None if redeployed is None else asdict(redeployed),
    }


def details(
    status: api.ApplicationStatus,
    now: float,
    metrics: api.ApplicationMetrics,
    redeployed: api.LastRedeploy | None = None,
) -> RenderableType:
    """Return the details of one application.

    They are its progress, its last redeploy, hosts, results, remarkable metrics, and remedies of failures.
    """
    failed = api.find_failures(status, now)
    failing = {failure.unit for failure in failed}
    regions = region_lines(status, now, failing)
    progress = progress_table(status, rates(metrics), now, failing, [line.plain for line in regions])
    lines: list[RenderableType] = [progress, *facts(metrics)]
    lines += [Text(), *regions]
    if redeployed is not None:
        lines.append(redeploy_line(redeployed, now, runs=status.state in ("RUNNING", "WAITING")))
    lines += [Text(), tasks_table(status), Text()]
    if (event_time := event_time_table(metrics)) is not None:
        lines += [event_time, Text()]
    for host in status.hosts:
        process = host.process + ("" if host.alive or host.row.pid is None else " (gone)")
        took = f"; start-up {api.describe_start_phases(host.row.start_up)}" if host.row.start_up else ""
        lines.append(Text(f"host {host.id}  {host.shown_state}, {process}{took}", "dim"))
        if (problem := host.storage_problem(now)) is not None:
            lines.append(Text(f"{problem}.", "red"))
        lines += [Text(f"{reason}; the host is moved as soon as machines allow.", "red") for reason in host.misplaced]
    for sink in status.sinks:
        lines.append(Text.assemble((sink.operator, "bold"), f"  {_visible(sink, now)}  {sink.path or sink.place}"))
        if sink.error is not None:
            lines.append(Text(f"{sink.error}. Failed {duration(now - (sink.failed_at or now))} ago.", "red"))
    lines += connection_lines(status)
    lines.append(Text(f"logs  {status.log_places}", "dim"))
    return Group(*lines, *_failure_lines(failed))


def _failure_lines(failed: Sequence[api.UnitFailure]) -> Iterator[Text]:
    """Yield a line for each cause of failures, with the units that have failed for it, and the remedy."""
    alike: dict[tuple[str, str], list[api.UnitFailure]] = {}
    for failure in failed:
        alike.setdefault((failure.explanation, failure.remedy_of_all), []).append(failure)
    for (reason, remedy), group in alike.items():
        if len(group) == 1:
            yield Text(f"{group[0].unit}: {reason}. {group[0].remedy}", "red")
        else:
            names = short_list(failure.unit for failure in group)
            yield Text(f"{plural(len(group), 'unit')} ({names}): {reason}. {remedy}", "red")


def redeploy_line(redeployed: api.LastRedeploy, now: float, *, runs: bool) -> Text:
    """Return a line on the last redeploy: its changes, its outcome, and how long ago it ended."""
    changes = "" if redeployed.changes is None else f": {redeployed.changes}"
    if redeployed.state == "OPEN":
        left = f"decided in at most {duration(redeployed.until - now)}" if runs else "decided when it runs again"
        return Text(f"redeploy on trial, {left}{changes}", "yellow")
    ago = f"{duration(now - (redeployed.ended_at or now))} ago"
    if redeployed.state == "REVERTED":
        return Text(
            f"last redeploy reverted {ago}; the previous plan is deployed again; cause: {redeployed.cause}", "yellow"
        )
    pause = redeployed.pause_seconds
    paused = "" if pause is None else f"; changed units paused for {pause:.1f} s"
    what = "last redeploy restored the previous plan" if redeployed.restores else "last redeploy passed its trial"
    return Text(f"{what} {ago}{changes}{paused}", "dim")


def _visible(sink: api.SinkStatus, now: float) -> str:
    """Describe a sink's outputs in words: visible rows, last delivery, watermark, set-aside, uncommitted, waiting rows.

    Each part except the visible rows is left out if there is nothing to say.
    """
    seen = f"{plural(sink.rows, 'row')} in {plural(sink.files, 'epoch' if sink.path is None else 'file')}"
    last = "" if sink.delivered_at is None else f", the last {duration(now - sink.delivered_at)} ago"
    parts = [seen + last]
    if sink.complete_until is not None:
        parts.append(f"complete up to {moment(sink.complete_until)}")
    elif sink.is_complete:
        parts.append("complete, its streams have ended")
    if sink.undeliverable:
        parts.append(f"{plural(sink.undeliverable, 'row')} undeliverable and set aside, see results")
    if sink.uncommitted:
        parts.append(f"{plural(sink.uncommitted, 'file')} of them uncommitted")
    if sink.waiting:
        late = f", {sink.late} of them late" if sink.late else ""
        parts.append(f"{plural(sink.waiting_rows, 'row')} in {plural(sink.waiting, 'file')} waiting{late}")
    return "; ".join(parts)


def overview(statuses: list[api.ApplicationStatus], now: float) -> RenderableType:
    """Return a table with a line for every application."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("application", "state", "deployed", "PEs", "epoch", "rows into PEs", "failed"):
        table.add_column(title, justify="right" if title in ("PEs", "epoch", "rows into PEs") else "left")
    for status in statuses:
        table.add_row(
            status.application,
            styled_state(status.shown_state),
            f"{duration(now - status.deployed_at)} ago",
            str(len(status.pes)),
            str(min((unit.completed_epoch for unit in status.units), default=0)),
            count(sum(pe.row.rows_in for pe in status.pes)),
            ", ".join(failure.unit for failure in api.find_failures(status, now)) or "-",
        )
    return table


def event_time_table(metrics: api.ApplicationMetrics) -> RenderableType | None:
    """Return a table of the operators in event-time graphs, or a line if all their streams have ended.

    The table has at most `MAX_LISTED_OPERATORS` operators. The result is None if there are no such operators, or none
    has run yet.
    """
    every = metrics.event_time
    if not every:
        return None
    if all(each.ended for each in every):
        return Text("event time  all streams have ended", "dim")
    shown = every
    if len(every) > MAX_LISTED_OPERATORS:
        held = sorted((each for each in every if not each.ended), key=lambda each: each.watermark or float("-inf"))
        chosen = {each.operator for each in (*held, *every)[:MAX_LISTED_OPERATORS]}
        shown = tuple(each for each in every if each.operator in chosen)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("operator", overflow="fold")
    table.add_column("event time", no_wrap=True)
    table.add_column("behind", justify="right", no_wrap=True)
    table.add_column("what holds its watermark", overflow="fold", ratio=1)
    for each in shown:
        stands = each.watermark is None and not each.ended
        table.add_row(
            each.operator,
            each.reached,
            "-" if each.age is None else duration(each.age),
            Text(each.why, "yellow" if stands else ""),
        )
    if len(shown) == len(every):
        return table
    return Group(table, Text(f"{plural(len(every) - len(shown), 'operator')} more: --format json", "dim"))
