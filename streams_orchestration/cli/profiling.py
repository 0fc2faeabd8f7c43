"""`streams profile`: measure the cost of the operators and streams of a running application."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import yaml
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.cli.interrupts import Interrupts
from streams_orchestration.cli.invocation import current, write_output
from streams_orchestration.cli.messages import note, warning
from streams_orchestration.cli.terminal import messages, results, write_table
from streams_orchestration.compiler.decoupling.outcome import Outcome
from streams_orchestration.model.assignment_document import read_assignment
from streams_orchestration.model.brief import count, plural
from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.document import read_document
from streams_orchestration.model.profile import Profile
from streams_orchestration.model.profile_document import mapping_of
from streams_orchestration.runtime import api

MAX_NAMED_OPERATORS = 12
"""The most operators that the table names, the hottest first."""


def measure_profile(
    application: str, seconds: float, format_: str | None, output: Path | None, compare: Path | None
) -> int:
    """Measure the cost of a running application's parts and write the profile; return the exit status.

    An interrupt ends the measurement early. Without a format the profile is YAML in a file, and else a table. With
    `compare`, also show the measurement beside the prediction of that decision, and store the comparison.

    Raises:
        BadParameter: the decision has no prediction, or the application does not run with it; or the output cannot be
            written.
        ApplicationError: the document to compare with is not a decision.
        StreamsRuntimeError: the application does not run or carried no tuples, or the comparison cannot be stored.
    """
    current().application = application

    decision = _read_decision(compare) if compare is not None else None
    catalog = api.open_catalog(api.Home.default(), application)
    with Interrupts(lambda: None) as interrupts:
        measurement = api.measure_application(catalog, application, seconds, interrupts.pause, note)
    for remark in measurement.remarks:
        warning(f"{application}: {remark}.")
    for each in measurement.profile.unmeasured:
        port = "" if each.port is None else f", output port {each.port}"
        warning(f"not measured: {each.operator}{port}: {each.reason}.")
    chosen = format_ or ("yaml" if output is not None else "table")
    if decision is not None:
        _compare(catalog, application, measurement.profile, decision, alone=output is None and chosen != "table")
    if chosen == "table":
        write_table(profile_table(measurement.profile), output)
    else:
        write_output(profile_text(measurement.profile, chosen), output)
    if output is not None:
        note(f"{output}: {measurement.profile.seconds:g} s of {application}")
    return 0


def _read_decision(path: Path) -> dict[str, Any]:
    """Read the document of a decision, which must contain its predictions."""
    read_assignment(path)
    tree, _ = read_document(path)
    if not is_mapping(tree) or not tree.get("decision"):
        message = f"{path} has no prediction. Give a decision that `streams decouple SPEC --output` wrote."
        raise click.BadParameter(message, click.get_current_context(), param_hint="'--compare'")
    return dict(tree)


def _compare(
    catalog: api.Catalog, application: str, profile: Profile, decision: dict[str, Any], *, alone: bool
) -> None:
    """Show a decision's prediction beside the measurement, and store the comparison.

    Args:
        catalog: the catalog.
        application: the application's name.
        profile: the measurement.
        decision: the document of the decision.
        alone: leave standard output to the profile, and show the comparison on standard error.
    """
    outcome = api.compare_with_profile(api.read_compilation(catalog, application), profile, decision)
    if outcome is None:
        message = f"{application} does not run with that decision. Name the decision with which it was deployed."
        raise click.BadParameter(message, click.get_current_context(), param_hint="'--compare'")
    path, kept = api.store_outcome(catalog.home, application, outcome, api.now())
    (messages() if alone else results()).print(comparison_table(outcome))
    note(f"{path}: {plural(len(kept), 'comparison')}")


def comparison_table(outcome: Outcome) -> RenderableType:
    """Return a table of predicted and measured loads, with the predicted and measured speed-up below."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("PE", "predicted", "measured", "in batches"):
        table.add_column(title, justify="right" if title != "PE" else "left")
    for each in outcome.pes:
        table.add_row(f"{each.pe}", f"{each.predicted:.1f} %", f"{each.measured:.1f} %", f"{each.busy:.1f} %")
    speedups = f"predicted {outcome.predicted_speedup:.2f}, measured {outcome.measured_speedup:.2f}"
    now, then = count(outcome.rate), count(outcome.rate_before)
    return Group(
        table,
        "",
        Text(f"speed-up by processor time: {speedups} ({outcome.error:.0%} off)"),
        Text(f"throughput: {now} tuples/s now, {then} when it was decided ({outcome.throughput_ratio:.2f} times)"),
        "",
    )


def profile_text(profile: Profile, form: str) -> str:
    """Return the document of a profile as a text in the format `yaml` or `json`."""
    document = mapping_of(profile)
    if form == "json":
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return "".join(_entry(key, value) for key, value in document.items())


def _entry(key: str, value: Any) -> str:
    """Return one entry of a YAML document, with each item of a list or mapping on a line of its own."""
    if is_list(value):
        return f"{key}:\n" + "".join(f"  - {_line(each)}\n" for each in value)
    if is_mapping(value):
        return f"{key}:\n" + "".join(f"  {name}: {_line(each)}\n" for name, each in value.items())
    return f"{key}: {_line(value)}\n"


def _line(value: Any) -> str:
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=True, width=math.inf)
    return text.removesuffix("...\n").rstrip("\n")


def profile_table(profile: Profile) -> RenderableType:
    """Return the main parts of a profile: the `MAX_NAMED_OPERATORS` hottest operators, PEs, costs of sending."""

    def table(*titles: str) -> Table:
        made = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for number, title in enumerate(titles):
            made.add_column(title, justify="right" if number else "left", no_wrap=bool(number))
        return made

    hottest = sorted(profile.operators, key=lambda each: -each.cpu_seconds)
    operators = table("operator", "of a processor", "tuples/s in", "tuples/s out", "bytes/tuple")
    for each in hottest[:MAX_NAMED_OPERATORS]:
        sent = [stream for stream in profile.streams if stream.operator == each.operator]
        tuples, size = sum(x.tuples for x in sent), sum(x.bytes or 0.0 for x in sent)
        operators.add_row(
            each.operator,
            f"{each.cpu_seconds / profile.seconds:.1%}",
            count(round(sum(each.inputs) / profile.seconds)) if each.inputs else "-",
            count(round(tuples / profile.seconds)) if sent else "-",
            f"{size / tuples:,.0f}" if tuples else "-",
        )
    pes = table("PE", "of a processor", "in between", "in batches")
    for pe in profile.pes:
        parts = (profile.utilisation(pe), pe.overhead_seconds / profile.seconds, pe.busy_seconds / profile.seconds)
        pes.add_row(str(pe.pe), *(f"{part:.1%}" for part in parts))
    more = len(hottest) - MAX_NAMED_OPERATORS
    rest = [Text(f"{plural(more, 'more operator')} with lower costs", "dim")] if more > 0 else []
    return Group(operators, *rest, "", pes, "", *_transport(profile))


def _transport(profile: Profile) -> Iterator[RenderableType]:

    transport = profile.transport
    if transport is None:
        return
    basis = {
        "measured": f"fitted to {plural(transport.streams, 'stream')}",
        "scaled": f"calibrated on this machine, scaled to what {plural(transport.streams, 'stream')} of one size took",
        "calibrated": "calibrated on this machine, since nothing crossed",
    }[transport.basis]
    for name, cost in (("sending", transport.send), ("receiving", transport.receive)):
        yield Text(f"{name} a tuple  {cost.per_tuple * 1e9:,.1f} ns + {cost.per_byte * 1e9:,.3f} ns a byte")
    yield Text(f"({basis})", "dim")
