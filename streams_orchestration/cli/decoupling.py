"""`streams decouple`: which operators to move to other machines."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streams_orchestration.cli.failing import report_diagnostics
from streams_orchestration.cli.options import FiniteRange, compile_options, format_option, output_option, write_output
from streams_orchestration.compiler.options import Options

if TYPE_CHECKING:
    from rich.console import RenderableType

    from streams_orchestration.compiler.compilation import Compilation
    from streams_orchestration.compiler.decoupling import Decision


@click.command()
@click.argument(
    "problem", metavar="SPEC|PROBLEM", type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
)
@click.option("--machines", type=click.IntRange(1, 1000), metavar="K", help="How many machines. [default: 2]")
@click.option("--pe", type=click.IntRange(min=0), metavar="N", help="The PE to part. [default: the busiest]")
@click.option(
    "--solver",
    type=click.Choice(["highs", "cbc", "search"], case_sensitive=False),
    default="highs",
    show_default=True,
    help="Of the integer program; the other one takes its place when it is not installed. `search` does without.",
)
@click.option(
    "--time-limit",
    "seconds",
    type=FiniteRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="When it is over, the best decision so far is the answer, with its bound.",
)
@click.option(
    "--gap",
    type=FiniteRange(min=0, max=1),
    metavar="PART",
    help="Distance from the best that is close enough. [default: 0, 0.0001 for large problems]",
)
@compile_options
@format_option
@output_option
def decouple(
    problem: Path,
    machines: int | None,
    pe: int | None,
    solver: Any,
    seconds: float,
    gap: float | None,
    options: Options,
    format_: str,
    output: Path | None,
) -> int:
    """Decide which operators to move apart.

    SPEC is an application: with what `streams profile` measured (--profile), the operators of a PE are parted, each
    part to be a PE of its own. The document that --output writes is what `streams deploy --decoupling` takes.

    PROBLEM names operators with their costs and what keeps them together. The answer has the least largest load of a
    machine, and among such the least sum; the bound says how good any decision can be.
    """
    from streams_orchestration.model.document import read_document

    tree, wrong = read_document(problem)
    effort = {"solver": solver.lower(), "seconds": seconds, "gap": gap}
    if isinstance(tree, dict) and "specVersion" in tree:
        return _of_application(problem, options, machines or 2, pe, effort, format_, output)
    if pe is not None or options != Options():
        message = f"{problem} is a problem and no spec, so there is nothing to compile and no PE to name."
        raise click.UsageError(message)
    from streams_orchestration.compiler.decoupling import solve
    from streams_orchestration.model.decoupling_document import problem_from_mapping, read_problem

    sound = isinstance(tree, dict) and not wrong  # a large one is not read twice
    given = problem_from_mapping(tree, machines) if sound else read_problem(problem, machines)
    decision = solve(given, **effort)
    report_diagnostics(decision.diagnostics)
    _write(decision.document(), _table(decision), format_, output)
    return 0


def _write(document: dict[str, Any], table: RenderableType, format_: str, output: Path | None) -> None:
    if format_ == "json":
        write_output(json.dumps(document, indent=2, ensure_ascii=False) + "\n", output)
    else:
        from streams_orchestration.cli.terminal import rendered

        write_output(rendered(table, colour=output is None and sys.stdout.isatty()), output)


def _of_application(
    spec: Path,
    options: Options,
    machines: int,
    pe: int | None,
    effort: dict[str, Any],
    format_: str,
    output: Path | None,
) -> int:
    from streams_orchestration.compiler.decoupling.application_decision import decide
    from streams_orchestration.compiler.decoupling.decision_document import decision_document
    from streams_orchestration.compiler.profiles.costs import measured_costs

    profile = options.profile
    if profile is None:
        message = (
            f"it is not known what {spec} costs. Measure it while it runs (`streams profile APP --output FILE`), "
            "then add --profile FILE."
        )
        raise click.UsageError(message)
    compilation = _as_measured(spec, options)
    plan = compilation.logical, compilation.physical, compilation.fusion
    costs, found = measured_costs(compilation.logical, compilation.physical, profile)
    report_diagnostics(found)
    decision = decide(*plan, costs, machines=machines, pe=pe, **effort)
    report_diagnostics(decision.solution.diagnostics)
    document = decision_document(*plan, decision)
    if output is not None:
        write_output(json.dumps(document, indent=2, ensure_ascii=False) + "\n", output)
        name = compilation.logical.application
        text = f"{output}: apply it with `streams deploy {spec} --decoupling {output}`"
        click.echo(f"{text}; if {name} is deployed, `streams cancel {name}` first, and add --fresh", err=True)
    if output is None or format_ == "table":
        from streams_orchestration.cli.parting import decision_table

        _write(document, decision_table(compilation, decision), format_, None)
    return 0


def _as_measured(spec: Path, options: Options) -> Compilation:
    """The application with the PEs that it was measured with, where the options lead there; never decoupled already."""
    from streams_orchestration.cli.compiling import compiled
    from streams_orchestration.compiler.fusion_fingerprint import fusion_fingerprint

    plain = compiled(spec, replace(options, profile=None, decoupling=None))
    wanted = options.profile.fingerprint if options.profile is not None else ""
    if not wanted or fusion_fingerprint(plain.logical, plain.physical, plain.fusion) == wanted:
        return plain
    by_profile = compiled(spec, replace(options, decoupling=None))
    if fusion_fingerprint(by_profile.logical, by_profile.physical, by_profile.fusion) == wanted:
        return by_profile
    message = "The application was measured with other PEs, widths or options; what was measured of operators counts."
    click.secho(message, fg="yellow", err=True)
    return plain


def _table(decision: Decision) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from streams_orchestration.cli.names import plural, short_list

    answer = decision.document()
    found = decision.evaluation
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("machine", "load", "operators"):
        table.add_column(title, justify="right" if title == "load" else "left")
    for machine, load in enumerate(found.loads):
        names = [name for name, where in answer["execAt"].items() if where == machine]
        count = f" ×{found.counts[machine]}" if found.counts[machine] > 1 else ""
        if names or load:
            table.add_row(f"{machine}{count}", f"{load:.4f}", f"{len(names)}: {short_list(names, 72)}")
    parts: list[RenderableType] = [table, ""]
    for each in found.networks:
        parts.append(Text(f"new network behind {each.operator}: machine {each.sender} -> {each.receiver}"))
    proof = "the optimum" if decision.gap < 1e-6 else f"at most {100 * decision.gap:.2g} % above the best"
    parts.append(
        Text(
            f"largest load {found.worst:.4f}, {proof}; {plural(answer['hops'], 'new network')}; "
            f"predicted speed-up {decision.predicted_speedup:.2f} ({decision.solver}, {decision.seconds:.1f} s)"
        )
    )
    return Group(*parts)
