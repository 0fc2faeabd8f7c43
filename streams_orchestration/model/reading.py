"""Reading of documents other than specs: profiles, decisions, decoupling problems."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from streams_orchestration.model.containers import is_mapping
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic, in_order
from streams_orchestration.model.document import read_document
from streams_orchestration.model.element import Element
from streams_orchestration.model.loading import finding
from streams_orchestration.model.values import show

T = TypeVar("T", bound=BaseModel)


def read_mapping(path: Path, what: str) -> Mapping[str, Any]:
    """Read the mapping in a file in YAML or JSON.

    Args:
        path: the path of the file.
        what: the expected document with its article, for the error message: "a profile".

    Raises:
        ApplicationError: the file cannot be read, or is not a mapping; every finding has its line.
    """
    tree, diagnostics = read_document(path)
    if tree is None or diagnostics:
        raise ApplicationError(diagnostics)
    if not is_mapping(tree):
        message = f"{what} is a mapping, not {show(tree)}"
        raise ApplicationError([Diagnostic.of("SO0009", message, location=f"{path}:1")])
    return tree


def validated(model: type[T], tree: Mapping[str, Any], *, by_name: bool = False) -> T:
    """Validate a mapping and return the model's instance.

    Args:
        model: the model class of the document.
        tree: the mapping.
        by_name: True to accept the Python names of fields as keys, too.

    Raises:
        ApplicationError: the mapping does not fit the model.
    """
    context: dict[str, dict[int, type[Element]]] = {}
    try:
        return model.model_validate(tree, by_alias=True, by_name=by_name, context=context)
    except ValidationError as failure:
        errors = failure.errors(include_url=False, include_input=False)
        diagnostics = [finding(error, tree, context.get("classes", {})) for error in errors]
        raise ApplicationError(in_order(diagnostics)) from failure
