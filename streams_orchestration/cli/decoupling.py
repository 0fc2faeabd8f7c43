"""`streams decouple`: decide which operators to move to other machines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.cli.compiling import compile_and_report
from streams_orchestration.cli.decoupling_report import decision_table
from streams_orchestration.cli.invocation import write_json
from streams_orchestration.cli.messages import note, report_diagnostics, warning
from streams_orchestration.cli.terminal import write_table
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.decoupling import Decision, solve
from streams_orchestration.compiler.decoupling.application_decision import decide
from streams_orchestration.compiler.decoupling.decision_document import decision_document
from streams_orchestration.compiler.decoupling.solver_task import SolverChoice
from streams_orchestration.compiler.fusion_fingerprint import fusion_fingerprint
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.profiles.costs import measured_costs
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.model.brief import plural, short_list
from streams_orchestration.model.containers import is_mapping
from streams_orchestration.model.decoupling_document import problem_from_mapping, read_problem
from streams_orchestration.model.document import read_document
from streams_orchestration.model.python_file import is_python


class Effort(TypedDict):
    """The settings of a search for a decision."""

    solver: SolverChoice
    seconds: float
    gap: float | None


def decouple(
    problem: Path,
    machines: int | None,
    pe: int | None,
    solver: SolverChoice,
    seconds: float,
    gap: float | None,
    options: Options,
    format_: str,
    output: Path | None,
) -> int:
    """Decide which operators of an application, or of a bare problem, to move apart; write the decision, and return 0.

    The search ends after `seconds`. Without `machines`, an application gets 2, and a problem the number that it names.
    The decision about an application is written as JSON if there is an output, and the table is shown, too.

    Raises:
        ApplicationError: the application or problem has errors, its constraints contradict each other, or no decision
            was found in time.
        UsageError: options that need a spec are given for a bare problem, a spec is given without a profile, or the
            output cannot be written.
    """
    effort: Effort = {"solver": solver, "seconds": seconds, "gap": gap}
    if is_python(problem):
        return _decouple_application(problem, options, machines or 2, pe, effort, format_, output)
    tree, wrong = read_document(problem)
    if is_mapping(tree) and "specVersion" in tree:
        return _decouple_application(problem, options, machines or 2, pe, effort, format_, output)
    if pe is not None or options != Options():
        message = f"{problem} is a decoupling problem, not a spec: leave out --pe and options of the compiler."
        raise click.UsageError(message)

    if is_mapping(tree) and not wrong:  # a large document is not read twice
        problem_ = problem_from_mapping(tree, machines)
    else:
        problem_ = read_problem(problem, machines)
    decision = solve(problem_, **effort)
    report_diagnostics(decision.diagnostics)
    _write(decision.document(), _table(decision), format_, output)
    return 0


def _write(document: dict[str, Any], table: RenderableType, format_: str, output: Path | None) -> None:
    if format_ == "json":
        write_json(document, output)
    else:
        write_table(table, output)


def _decouple_application(
    spec: Path,
    options: Options,
    machines: int,
    pe: int | None,
    effort: Effort,
    format_: str,
    output: Path | None,
) -> int:

    profile = options.profile
    if profile is None:
        message = (
            f"the costs of {spec} are not known. Measure it while it runs (`streams profile APP --output FILE`), "
            "then add --profile FILE."
        )
        raise click.UsageError(message)
    compilation = _compile_as_measured(spec, options)
    plan = compilation.logical, compilation.physical, compilation.fusion
    costs, diagnostics = measured_costs(compilation.logical, compilation.physical, profile)
    report_diagnostics(diagnostics)
    decision = decide(*plan, costs, parts=machines, pe=pe, **effort)
    report_diagnostics(decision.solution.diagnostics)
    document = decision_document(*plan, decision)
    if output is not None:
        write_json(document, output)
        name = compilation.logical.application
        text = f"{output}: apply it with `streams deploy {spec} --decoupling {output}`"
        note(f"{text}. If {name} is deployed, use `redeploy` in place of `deploy`: its state is kept.")
    if output is None or format_ == "table":
        _write(document, decision_table(compilation, decision), format_, None)
    return 0


def _compile_as_measured(spec: Path, options: Options) -> Compilation:
    """Compile an application without decoupling, and if possible into the PEs in which it was measured; else warn."""
    read = read_application(spec)
    plain = compile_and_report(read, replace(options, profile=None, decoupling=None))
    wanted = options.profile.fingerprint if options.profile is not None else ""
    if not wanted or fusion_fingerprint(plain.logical, plain.physical, plain.fusion) == wanted:
        return plain
    by_profile = compile_and_report(read, replace(options, decoupling=None))
    if fusion_fingerprint(by_profile.logical, by_profile.physical, by_profile.fusion) == wanted:
        return by_profile
    message = "The profile was measured with other PEs, widths or options; only the costs of single operators are used."
    warning(message)
    return plain


def _table(decision: Decision) -> RenderableType:

    answer = decision.document()
    evaluation = decision.evaluation
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("machine", "load", "operators"):
        table.add_column(title, justify="right" if title == "load" else "left")
    for machine, load in enumerate(evaluation.loads):
        names = [name for name, where in answer["execAt"].items() if where == machine]
        count = f" ×{evaluation.counts[machine]}" if evaluation.counts[machine] > 1 else ""
        if names or load:
            table.add_row(f"{machine}{count}", f"{load:.4f}", f"{len(names)}: {short_list(names, 72)}")
    parts: list[RenderableType] = [table, ""]
    for each in evaluation.networks:
        parts.append(Text(f"new network after {each.operator}: machine {each.sender} -> {each.receiver}"))
    proof = "the optimum" if decision.gap < 1e-6 else f"at most {100 * decision.gap:.2g} % above the best"
    parts.append(
        Text(
            f"largest load {evaluation.worst:.4f}, {proof}; {plural(answer['hops'], 'new network')}; "
            f"predicted speed-up {decision.predicted_speedup:.2f} ({decision.solver}, {decision.seconds:.1f} s)"
        )
    )
    return Group(*parts)
