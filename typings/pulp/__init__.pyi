"""The parts of PuLP that the product uses, with the types that a strict check needs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

LpMinimize: int
LpBinary: str
LpContinuous: str
LpConstraintEQ: int
LpConstraintGE: int
LpStatusInfeasible: int
LpSolutionOptimal: int
LpSolutionIntegerFeasible: int

class LpVariable:
    name: str
    varValue: float | None
    index: int
    """Its column; PuLP sets it when a model for HiGHS is built."""
    def setInitialValue(self, val: float) -> bool: ...

class LpAffineExpression:
    def __init__(self, e: Mapping[LpVariable, float] | Iterable[tuple[LpVariable, float]]) -> None: ...

class LpConstraint:
    def __init__(self, e: LpAffineExpression, sense: int, *, rhs: float) -> None: ...

class LpProblem:
    objective: LpAffineExpression
    sol_status: int
    solverModel: Any
    """The model of HiGHS, which has types of its own."""
    def __init__(self, name: str, sense: int) -> None: ...
    def add_variable(
        self, name: str, lowBound: float | None = None, upBound: float | None = None, cat: str = ...
    ) -> LpVariable: ...
    def addConstraint(self, constraint: LpConstraint, name: str) -> None: ...
    def setObjective(self, obj: LpAffineExpression) -> None: ...
    def variables(self) -> list[LpVariable]: ...
    def isMIP(self) -> bool: ...
    def solve(self, solver: HiGHS | COIN_CMD) -> int: ...

class HiGHS:
    def __init__(
        self,
        *,
        msg: bool = True,
        gapRel: float | None = None,
        gapAbs: float | None = None,
        threads: int | None = None,
        timeLimit: float | None = None,
        callbackTuple: tuple[Callable[..., None], object] | None = None,
        callbacksToActivate: Sequence[object] | None = None,
        random_seed: int = ...,
        mip_feasibility_tolerance: float = ...,
    ) -> None: ...
    def available(self) -> bool: ...
    def createAndConfigureSolver(self, lp: LpProblem) -> None: ...
    def buildSolverModel(self, lp: LpProblem) -> None: ...
    def callSolver(self, lp: LpProblem) -> None: ...

class COIN_CMD:
    path: str
    tmpDir: str
    def __init__(
        self,
        *,
        path: str | None = None,
        msg: bool = True,
        timeLimit: float | None = None,
        gapRel: float | None = None,
        gapAbs: float | None = None,
        logPath: str | None = None,
        threads: int | None = None,
        options: Sequence[str] = (),
        warmStart: bool = False,
    ) -> None: ...
    def available(self) -> bool: ...

class PULP_CBC_CMD(COIN_CMD):
    def __init__(self, *, msg: bool = True) -> None: ...

def value(x: LpAffineExpression) -> float | None: ...
