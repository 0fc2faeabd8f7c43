"""Commands that only compile. Each one imports the module that does its work when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from streams_orchestration.cli.command import command
from streams_orchestration.cli.options import (
    application_argument,
    compile_options,
    document_option,
    format_option,
    output_option,
    spec_argument,
    spec_or_code_argument,
)
from streams_orchestration.cli.parameter_types import Spec
from streams_orchestration.cli.shell_completion import complete_operator, complete_spec
from streams_orchestration.compiler.option_types import WIDTH, FiniteRange
from streams_orchestration.compiler.options import Options

_EXPLAIN_HELP = """Explain the compiler's decisions on a part of an application, with the numbers of their rules.

WHAT can be:

\b
  Out[0].A  or  Out.A    an operator: its channel, PE, host, region, threads, lock, ports
  Src Out.A              two operators: why in one PE or apart, how tuples pass between them
  Src..Out.A             the same, as is 'Src -> Out.A' in quotes
  Out.A.0                an input port: what feeds it, why it has a queue, who enters
  PE 1                   a PE: why these operators, why this host
  region 0               a consistent region: starts, members, values
  Out                    a parallel region
  Src                    a stream ('stream Src' when an operator has the same name)
  'Src:0>Out.In'         a splitter
  CDISP0819E             a diagnostic: cause, remedy, where it was raised

A code alone, in place of SPEC, gives its cause and remedy.
"""


@command("compile")
@spec_argument
@compile_options
@format_option
@output_option
def compile_(spec: Path, options: Options, format_: str, output: Path | None) -> int:
    """Compile an application and show the plan, without running anything."""
    from streams_orchestration.cli import compiling

    return compiling.compile_application(spec, options, format_, output)


@command()
@click.argument("specs", metavar="SPEC...", nargs=-1, required=True, type=Spec(), shell_complete=complete_spec)
@compile_options
@click.option("--queries", is_flag=True, help="Let Spark analyse the queries, too. This needs Java and some seconds.")
@document_option
def check(specs: tuple[Path, ...], options: Options, *, queries: bool) -> int:
    """Check that applications can run here, without running them, for example in CI.

    All errors are reported at once: the errors that `compile` reports, and the errors that `run` would find before it
    starts, in parameters, types of expressions, schemas, files, packages and the code of operators. The exit status is
    1 if any SPEC has errors. `streams redeploy SPEC --dry-run` compares a SPEC with the deployed application.
    """
    from streams_orchestration.cli import checking

    return checking.check(specs, options, queries=queries)


@command(help=_EXPLAIN_HELP)
@spec_or_code_argument
@click.argument("what", nargs=-1, shell_complete=complete_operator)
@compile_options
@format_option
@output_option
def explain(spec: Path | str, what: tuple[str, ...], options: Options, format_: str, output: Path | None) -> None:
    """Explain one decision of the compiler; users see `_EXPLAIN_HELP` as its help."""
    from streams_orchestration.cli import explaining

    explaining.explain_part(spec, what, options, format_, output)


@command()
@spec_argument
@compile_options
@click.option(
    "--to",
    "to",
    type=WIDTH,
    metavar="PATTERN=N",
    multiple=True,
    required=True,
    help="Give a region this width, named as for --width; may be repeated.",
)
@format_option
@output_option
def diff(spec: Path, options: Options, to: tuple[tuple[str, int], ...], format_: str, output: Path | None) -> None:
    """Show what changes if parallel regions get other widths, without running anything.

    The other options describe the application as it runs now. Operators that stay keep their numbers. A PE is
    restarted only if its operators or its host change, or if operators that it exchanges tuples with are in another PE.
    """
    from streams_orchestration.cli import diffing

    diffing.diff(spec, options, to, format_, output)


@command()
@spec_argument
@compile_options
@output_option
def convert(spec: Path, options: Options, output: Path | None) -> int:
    """Write an application as a spec in YAML that compiles to the same plan.

    SPEC is a file of SPL, a compiled application (.adl, .sab), or a spec in Python.
    """
    from streams_orchestration.cli import converting

    return converting.convert(spec, options, output)


@command()
@click.argument("problem", metavar="SPEC|PROBLEM", type=Spec())
@click.option("--machines", type=click.IntRange(1, 1000), metavar="K", help="Use this many machines. [default: 2]")
@click.option("--pe", type=click.IntRange(min=0), metavar="N", help="Split this PE. [default: the busiest]")
@click.option(
    "--solver",
    type=click.Choice(["highs", "search"], case_sensitive=False),
    default="highs",
    show_default=True,
    help="Let HiGHS prove the best decision, or only search for a good one.",
)
@click.option(
    "--time-limit",
    "seconds",
    type=FiniteRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Stop after this many seconds, and return the best decision so far with its bound.",
)
@click.option(
    "--gap",
    type=FiniteRange(min=0, max=1),
    metavar="PART",
    help="Accept a decision whose relative difference from the best is at most this. [default: 0, 0.0001 for large "
    "problems]",
)
@compile_options
@format_option
@output_option
def decouple(
    problem: Path,
    machines: int | None,
    pe: int | None,
    solver: Literal["highs", "search"],
    seconds: float,
    gap: float | None,
    options: Options,
    format_: str,
    output: Path | None,
) -> int:
    """Decide which operators to move to PEs or machines of their own.

    For the SPEC of an application, split the operators of a PE into parts, each to be a PE of its own, by the costs
    that `streams profile` measured (--profile). `streams deploy --decoupling` takes the document that --output writes.

    A PROBLEM is a document with operators, their costs and constraints. The answer has the smallest peak load of a
    machine, and among such answers the smallest sum of loads. No decision can have a peak load below the bound.
    """
    from streams_orchestration.cli import decoupling

    return decoupling.decouple(problem, machines, pe, solver, seconds, gap, options, format_, output)


@command()
@spec_argument
@compile_options
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "svg", "html"]),
    help="Write this format; html is one file in which boxes fold and names can be searched. [default: svg or html if "
    "the file of --output ends so, else text]",
)
@output_option
def graph(spec: Path, options: Options, format_: str | None, output: Path | None) -> None:
    """Draw the operators, channels, PEs, regions, queues and copies of an application."""
    from streams_orchestration.cli import drawing

    drawing.graph(spec, options, format_, output)


@command()
@application_argument
@click.argument("part", metavar="[NAME]", default="spec")
@compile_options
@format_option
@output_option
def lineage(application: str, part: str, options: Options, format_: str, output: Path | None) -> None:
    """Show everything upstream and downstream of NAME.

    APP is the name of an application that is deployed or that has a spec under specs, or the path of a spec. NAME is a
    source, PE, stream, sink, operator or stage of the compilation, by default the spec. The compiler options are for an
    application that is not deployed.
    """
    from streams_orchestration.cli import drawing

    drawing.lineage(application, part, options, format_, output)
