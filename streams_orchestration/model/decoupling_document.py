"""Reading a decoupling problem: from a file or a mapping, with all its errors at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streams_orchestration.model.decoupling import Problem
from streams_orchestration.model.decoupling_checks import check_problem
from streams_orchestration.model.diagnostics import ApplicationError, in_order
from streams_orchestration.model.reading import read_mapping, validated


def read_problem(path: Path, machines: int | None = None) -> Problem:
    """Read a problem from a file in YAML or JSON.

    Args:
        path: the path of the file.
        machines: the number of machines, which overrides the number in the document.

    Raises:
        ApplicationError: the file cannot be read, or is not a problem; every finding has its line.
    """
    return problem_from_mapping(read_mapping(path, "a decoupling problem"), machines)


def problem_from_mapping(tree: Mapping[str, Any], machines: int | None = None) -> Problem:
    """Read a problem from a mapping; `machines` overrides the number of machines in it.

    Raises:
        ApplicationError: the mapping is not a problem, or `check_problem` has findings.
    """
    problem = validated(Problem, tree, by_name=True)
    if machines is not None:
        problem = problem.with_machines(machines)
    wrong = check_problem(problem)
    if wrong:
        raise ApplicationError(in_order(wrong))
    return problem
