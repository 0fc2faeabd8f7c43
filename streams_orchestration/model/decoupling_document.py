"""Reading a decoupling problem: from a file or a mapping, with all its errors at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from streams_orchestration.model.decoupling import Problem
from streams_orchestration.model.decoupling_checks import check_problem
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic, in_order
from streams_orchestration.model.document import read_document
from streams_orchestration.model.element import Element
from streams_orchestration.model.loading import finding
from streams_orchestration.model.values import show


def read_problem(path: Path, machines: int | None = None) -> Problem:
    """The problem in a file, YAML or JSON.

    Args:
        path: of the file.
        machines: used in place of the document's number.

    Raises:
        ApplicationError: the file cannot be read or is no problem; every finding has its line.
    """
    tree, diagnostics = read_document(path)
    if tree is None or diagnostics:
        raise ApplicationError(diagnostics)
    if not isinstance(tree, Mapping):
        message = f"a decoupling problem is a mapping, not {show(tree)}"
        raise ApplicationError([Diagnostic.of("SO0009", message, location=f"{path}:1")])
    return problem_from_mapping(tree, machines)


def problem_from_mapping(tree: Mapping[str, Any], machines: int | None = None) -> Problem:
    """The problem that a mapping describes, for `machines` machines where they are given.

    Raises:
        ApplicationError: it is no problem.
    """
    context: dict[str, dict[int, type[Element]]] = {}
    try:
        problem = Problem.model_validate(tree, by_alias=True, by_name=True, context=context)
    except ValidationError as failure:
        errors = failure.errors(include_url=False, include_input=False)
        found = [finding(error, tree, context.get("classes", {})) for error in errors]
        raise ApplicationError(in_order(found)) from failure
    if machines is not None:
        problem = problem.with_machines(machines)
    wrong = check_problem(problem)
    if wrong:
        raise ApplicationError(in_order(wrong))
    return problem
