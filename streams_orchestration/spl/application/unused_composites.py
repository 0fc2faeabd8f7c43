"""Checks of composites that the application does not invoke."""

from __future__ import annotations

from streams_orchestration.spl.application.expansion import Expansion
from streams_orchestration.spl.application.found_operators import CompositeOperator
from streams_orchestration.spl.application.native_operators import NativeOperators
from streams_orchestration.spl.application.submission import Submission
from streams_orchestration.spl.toolkits.units import LoadedUnit


def check_unused(unit: LoadedUnit, used: Expansion) -> None:
    """Report the mistakes in those composites of a file that an expansion has left out."""
    operators = NativeOperators(used.operators.given, used.operators.companion)
    checking = Expansion(
        used.files, used.mistakes, Submission(), used.data, operators, used.intrinsics, checks_only=True
    )
    for each in unit.composites():
        if (unit.path, each.first) not in used.expanded:
            checking.check(CompositeOperator(unit, each))
