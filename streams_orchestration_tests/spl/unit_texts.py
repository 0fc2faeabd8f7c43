"""The canonical text of a whole file, by which the printer and the parser are compared."""

from __future__ import annotations

from streams_orchestration.spl.language.definition_printing import text_of_definition
from streams_orchestration.spl.language.definitions import CompilationUnit


def text_of_unit(unit: CompilationUnit) -> str:
    """Return the canonical text of a file."""
    namespace = [] if unit.namespace is None else [f"namespace {unit.namespace.name};"]
    uses = [f"use {each.namespace}::{each.name};" for each in unit.uses]
    return "\n".join([*namespace, *uses, *(text_of_definition(each) for each in unit.definitions), ""])
