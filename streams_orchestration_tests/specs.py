"""Applications for tests, from YAML texts and from short Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from streams_orchestration.compiler.logical.logical import build_logical_graph
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel.parallel import expand
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.model.application import Application
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic
from streams_orchestration.model.document import parse_document
from streams_orchestration.model.loading import application_from_mapping, validate_document

CASES = Path(__file__).parent / "cases"

PLAIN = """
specVersion: 1
application: test
operators: {Source: {inputs: []}, Work: {}, Sink: {outputs: []}}
"""
"""The head of most specs: a source, an operator with any ports, a sink."""


def cases(name: str) -> dict[str, dict[str, Any]]:
    """Return the documents of a file of cases, by id."""
    documents = yaml.safe_load_all((CASES / name).read_text())
    return {document["id"]: document for document in documents}


def read(text: str) -> Application:
    """Return the application of a text.

    Raises:
        ApplicationError: it has errors.
    """
    application, diagnostics = findings(text)
    if application is None or any(each.severity == "error" for each in diagnostics):
        raise ApplicationError(diagnostics)
    return application


def findings(text: str) -> tuple[Application | None, list[Diagnostic]]:
    """Return the application of a text and the diagnostics of loading it; the file is called `spec`."""
    tree, diagnostics = parse_document(text, "spec")
    if tree is None:
        return None, diagnostics
    application, more = validate_document(tree, "spec:1")
    return application, [*diagnostics, *more]


def graph(*invocations: dict[str, Any], **parts: Any) -> Application:
    """Return an application from invocations, with the declarations of `PLAIN`."""
    operators = {"Source": {"inputs": []}, "Work": {}, "Sink": {"outputs": []}, **parts.pop("operators", {})}
    spec = {"specVersion": 1, "application": "test", "operators": operators, "graph": list(invocations), **parts}
    return application_from_mapping(spec)


def logical(application: Application, **options: Any) -> tuple[LogicalGraph, list[Diagnostic]]:
    """Return the logical graph and its diagnostics without warnings of what is not used."""
    logical_graph, diagnostics = build_logical_graph(application, Options(**options))
    return logical_graph, [each for each in diagnostics if each.code not in ("SO0110", "SO0111")]


def physical(application: Application, **options: Any) -> PhysicalGraph:
    """Return the expanded graph of an application without errors."""
    logical_graph, diagnostics = logical(application, **options)
    assert not diagnostics, diagnostics
    return expand(logical_graph)[0]


def codes(diagnostics: list[Diagnostic] | tuple[Diagnostic, ...]) -> list[str]:
    """Their codes, in order."""
    return [each.code for each in diagnostics]
