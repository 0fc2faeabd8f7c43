"""HiGHS and CBC, both through PuLP, with the solutions and bounds that they find on the way."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import pulp

from streams_orchestration.compiler.decoupling.formulation import Formulation

Solver = Literal["highs", "cbc"]
Values = Mapping[str, float]
_LOWER_BOUND = re.compile(r"^Lower bound:\s+(\S+)", re.MULTILINE)
_ABSOLUTE = 1e-7
"""Difference from the best, of loads that add up to 1000, at which a solver may stop."""


class SolverAnswer(NamedTuple):
    """The best solution and bound of a solver at one time."""

    values: Values | None
    """The best solution so far; None when there is no new one."""
    bound: float
    """No solution is better, in the problem's unit."""
    outcome: Literal["running", "optimal", "stopped", "infeasible"]
    """Optimal: within the wanted gap."""


def available(solver: Solver) -> bool:
    """Is the solver installed?"""
    if solver == "highs":
        return bool(pulp.HiGHS().available())
    return _cbc() is not None


def run(
    solver: Solver,
    formulation: Formulation,
    start: Values | None,
    gap: float,
    seconds: float,
    report: Callable[[SolverAnswer], None],
) -> SolverAnswer:
    """Solve a program.

    Args:
        solver: that is to do it.
        formulation: the program.
        start: values of the binaries of a known solution.
        gap: relative difference from the best at which it may stop; 0 for an exact answer.
        seconds: after which the solver should stop; not every solver does so in time.
        report: called with better solutions and bounds on the way.
    """
    if solver == "highs":
        return _highs(formulation, start, gap, seconds, report)
    return _run_cbc(formulation, start, gap, seconds)


def _highs(
    formulation: Formulation, start: Values | None, gap: float, seconds: float, report: Callable[[SolverAnswer], None]
) -> SolverAnswer:
    import highspy

    program = formulation.program
    kinds = highspy.cb.HighsCallbackType
    names: list[str] = []

    def on_event(kind: Any, _message: str, data: Any, _input: Any, _value: Any) -> None:
        values = None
        if kind == kinds.kCallbackMipImprovingSolution:
            values = dict(zip(names, map(float, data.mip_solution), strict=True))
        report(SolverAnswer(values, data.mip_dual_bound / formulation.scale, "running"))

    solver = pulp.HiGHS(
        msg=False,
        gapRel=gap,
        gapAbs=_ABSOLUTE,
        threads=1,
        timeLimit=seconds,
        callbackTuple=(on_event, None),
        callbacksToActivate=[kinds.kCallbackMipImprovingSolution, kinds.kCallbackMipLogging],
        random_seed=1,
        mip_feasibility_tolerance=1e-7,
    )
    solver.createAndConfigureSolver(program)
    solver.buildSolverModel(program)
    variables: list[Any] = program.variables()
    names += [variable.name for variable in variables]
    model: Any = program.solverModel
    if start is not None:
        known = [(variable.index, start[variable.name]) for variable in variables if variable.name in start]
        model.setSolution(len(known), [index for index, _ in known], [value for _, value in known])
    solver.callSolver(program)
    status = model.getModelStatus()
    states = highspy.HighsModelStatus
    if status in (states.kInfeasible, states.kUnboundedOrInfeasible):
        return SolverAnswer(None, float("inf"), "infeasible")
    info = model.getInfo()
    bound = info.mip_dual_bound if program.isMIP() else info.objective_function_value
    solved = info.primal_solution_status == 2
    values = dict(zip(names, map(float, model.getSolution().col_value), strict=True)) if solved else None
    return SolverAnswer(values, bound / formulation.scale, "optimal" if status == states.kOptimal else "stopped")


def objective_of(program: pulp.LpProblem) -> float:
    """The value of a solved program's objective."""
    value = pulp.value(program.objective)
    return value if isinstance(value, int | float) else 0.0


def _cbc() -> str | None:
    """The path of CBC: PuLP's own, else one on the path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for solver in (pulp.PULP_CBC_CMD(msg=False), pulp.COIN_CMD(msg=False)):
            if solver.available():
                return str(solver.path)
    return None


def _run_cbc(formulation: Formulation, start: Values | None, gap: float, seconds: float) -> SolverAnswer:
    program = formulation.program
    for variable in program.variables():
        if start is not None and variable.name in start:
            variable.setInitialValue(start[variable.name])
    with TemporaryDirectory() as directory:
        log = Path(directory) / "cbc.log"
        solver = pulp.COIN_CMD(
            path=_cbc(),
            msg=False,
            timeLimit=seconds,
            gapRel=gap,
            gapAbs=_ABSOLUTE,
            logPath=str(log),
            threads=1,
            options=["-increment 1e-9"],
            warmStart=start is not None,
        )
        solver.tmpDir = directory
        status = program.solve(solver)
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if status == pulp.LpStatusInfeasible:
        return SolverAnswer(None, float("inf"), "infeasible")
    values = {each.name: each.varValue for each in program.variables() if each.varValue is not None}
    solved = program.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    if program.sol_status == pulp.LpSolutionOptimal:
        bound = _lower_bound(text, objective_of(program) * (1 - gap) - _ABSOLUTE)
        return SolverAnswer(values, bound / formulation.scale, "optimal")
    bound = _lower_bound(text, 0.0) / formulation.scale
    return SolverAnswer(values if solved else None, bound, "stopped")


def _lower_bound(log: str, otherwise: float) -> float:
    """The bound that CBC's log has when it stopped early."""
    bounds = _LOWER_BOUND.findall(log)
    try:
        return float(bounds[-1]) if bounds else otherwise
    except ValueError:
        return otherwise
