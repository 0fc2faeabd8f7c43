"""Checks of a whole file: names that are defined twice, faulty types and functions even if unused, `use` directives."""

from __future__ import annotations

from collections.abc import Container

from streams_orchestration.spl.application.names import FileNames
from streams_orchestration.spl.functions.signatures import builtin_namespaces
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.definitions import Composite, Function, UseDirective
from streams_orchestration.spl.models.operators import IMPLICIT_NAMESPACES, standard_operators
from streams_orchestration.spl.typing.spans import Report
from streams_orchestration.spl.typing.statements import check_function


def check_file(names: FileNames, native: Container[str], report: Report) -> None:
    """Report mistakes in the definitions of a file, whether the application uses them or not.

    The graphs of composites are not checked, since their names and types depend on invocations.

    Args:
        names: the definitions that are visible in the file.
        native: the namespaces of native operators and functions that the companion names.
        report: takes each mistake.
    """
    unit = names.unit
    space = unit.unit.namespace
    if space is not None and (space.name == "spl" or space.name.startswith("spl.")):
        report("CDISP0542E", f"the namespace {space.name} is reserved", _behind(space))
    known: set[str] = set()
    for use in unit.unit.uses:
        if use.name in known:
            report("CDISP0024E", f"{use.name} is used in this file already; write its namespace in front of it", use)
        known.update({use.name} - {"*"})
        if use.namespace not in native:
            _check_use(names, use, report)
    _check_names(names, report)
    for definition in unit.unit.definitions:
        if isinstance(definition, tree.TypeDefinition):
            names.type(definition)
        elif isinstance(definition, Function) and not names.is_damaged(definition):
            signature = names.signature(definition)
            check_function(definition, names.scope, unit.source, names.files.mistakes, signature)


def _check_names(names: FileNames, report: Report) -> None:
    """Report names that are defined twice in the file, and ports, parameters and types twice in one composite.

    Two functions may share a name if their parameters differ.
    """
    kinds: dict[str, str] = {}
    functions: set[tuple[str, str]] = set()
    for each in names.unit.unit.definitions:
        name = each.name.name
        kind = "function" if isinstance(each, Function) else "composite" if isinstance(each, Composite) else "type"
        is_first = name not in kinds
        before = kinds.setdefault(name, kind)
        if isinstance(each, Function):
            types = ", ".join(str(parameter.type) for parameter in names.signature(each).parameters)
            if before == "function" and (name, types) not in functions:
                functions.add((name, types))
                continue
            what = f"the function {name}({types})" if before == "function" else name
        elif is_first:
            continue
        else:
            what = f"the {kind} {name}"
        report("CDISP0025E", f"{what} is defined in this file already", each.name)
    for composite in names.unit.composites():
        ports = [port.name for port in (*composite.inputs, *composite.outputs)]
        _check_unique("port", composite, ports, report)
        _check_unique("parameter", composite, [formal.name for formal in composite.formals], report)
        _check_unique("type", composite, [each.name for each in composite.types], report)


def _check_unique(what: str, composite: Composite, names: list[tree.Name], report: Report) -> None:
    """Report each name that a composite defines a second time."""
    for number, name in enumerate(names):
        if name.name in {each.name for each in names[:number]}:
            report("CDISP0025E", f"the {what} {name} is defined in {composite.name} already", name)


def _check_use(names: FileNames, use: UseDirective, report: Report) -> None:
    """Report a `use` directive whose namespace no toolkit has, as a warning."""
    toolkits, namespace = names.files.toolkits, use.namespace
    standard = namespace in IMPLICIT_NAMESPACES or any(
        each.rpartition("::")[0] == namespace for each in standard_operators()
    )
    if standard or namespace in builtin_namespaces():
        return
    if not toolkits.units_of(namespace) and not toolkits.has_directory(namespace):
        report("CDISP0760W", f"no toolkit has the namespace {namespace}", _behind(use))


def _behind(directive: tree.Node) -> tree.Node:
    """Return a node from the token after a directive's first word to the directive's end."""
    return tree.Node(min(directive.first + 1, directive.last), directive.last)
