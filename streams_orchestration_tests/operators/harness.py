"""Short forms for the tests of operators."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.testing import OperatorHarness, Row

__all__ = ["Bench", "Row", "division"]


class Bench(OperatorHarness):
    """A harness that takes the operator's parameters as keywords."""

    def __init__(
        self,
        kind: type[Operator],
        inputs: Sequence[str] = (),
        outputs: Sequence[str | None] = (),
        base: Path = Path(),
        results: Path = Path(),
        channel: int = -1,
        **parameters: Any,
    ) -> None:
        super().__init__(kind, inputs, outputs, parameters=parameters, base=base, results=results, channel=channel)


def division(rows: Sequence[Row], cuts: Sequence[int]) -> list[Sequence[Row]]:
    """Return the rows in runs that end at the cuts (modulo their number); empty ones are left out."""
    bounds = [0, *sorted(cut % (len(rows) + 1) for cut in cuts), len(rows)]
    return [rows[a:b] for a, b in itertools.pairwise(bounds) if a < b]
