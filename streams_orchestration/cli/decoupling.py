"""`streams decouple`: which operators to move to other machines."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streams_orchestration.cli.failing import report_diagnostics
from streams_orchestration.cli.options import format_option, output_option, write_output

if TYPE_CHECKING:
    from rich.console import RenderableType

    from streams_orchestration.compiler.decoupling import Decision


@click.command()
@click.argument("problem", type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path))
@click.option("--machines", type=click.IntRange(1, 1000), metavar="K", help="How many machines, in place of `k`.")
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
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="When it is over, the best decision so far is the answer, with its bound.",
)
@click.option(
    "--gap",
    type=click.FloatRange(min=0, max=1),
    metavar="PART",
    help="Distance from the best that is close enough. [default: 0, 0.0001 for large problems]",
)
@format_option
@output_option
def decouple(
    problem: Path,
    machines: int | None,
    solver: str,
    seconds: float,
    gap: float | None,
    format_: str,
    output: Path | None,
) -> int:
    """Decide which operators to move apart.

    PROBLEM names operators with their measured costs and what keeps them together. The answer has the least largest
    load of a machine, and among such the least sum; the bound says how good any decision can be.
    """
    from streams_orchestration.compiler.decoupling import solve
    from streams_orchestration.model.decoupling_document import read_problem

    chosen = solver.lower()
    decision = solve(read_problem(problem, machines), solver=chosen, seconds=seconds, gap=gap)  # pyright: ignore[reportArgumentType]
    report_diagnostics(decision.diagnostics)
    if format_ == "json":
        write_output(json.dumps(decision.document(), indent=2, ensure_ascii=False) + "\n", output)
    else:
        from streams_orchestration.cli.terminal import rendered

        write_output(rendered(_table(decision), colour=output is None and sys.stdout.isatty()), output)
    return 0


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
