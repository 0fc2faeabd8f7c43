"""The companion of an SPL file, `X.spl.yaml` beside `X.spl`: options for reading it, and Python for native code."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.document import LocatedMapping, read_document
from streams_orchestration.model.names import nearest
from streams_orchestration.model.spl_options import SplOptions
from streams_orchestration.spl.application.natives import CompanionFunction
from streams_orchestration.spl.functions.signatures import UnreadableSignatureError, signature_of_text
from streams_orchestration.spl.models.reading import without_names

_T = TypeVar("_T")
_OPTIONS = ("main", "toolkits", "define", "data")
_KEYS = (*_OPTIONS, "operators", "functions")
_FUNCTION = ("python", "pure", "signature")
_MODULE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_KIND = re.compile(r"(?:[A-Za-z_]\w*(?:\.\w+)*::)?[A-Za-z_]\w*")


@dataclass(frozen=True)
class Companion:
    """The content of a companion file, with its options merged into the options of the command line.

    Attributes:
        file: the name of the companion file, for messages.
        operators: the classes of native operators, or keys of their declarations, by name with namespace.
        functions: the Python functions for native functions, by name with namespace.
    """

    file: str
    options: SplOptions
    operators: dict[str, str | LocatedMapping] = field(default_factory=dict[str, "str | LocatedMapping"])
    functions: dict[str, CompanionFunction] = field(default_factory=dict[str, CompanionFunction])


def companion_of(path: Path, options: SplOptions) -> tuple[Companion, list[Diagnostic]]:
    """Read the companion of an SPL file, and return it with the findings; without a file it has only `options`.

    Options of the command line take precedence: they replace `main`, `data` and equal names of `define`, and their
    toolkits come first. Relative paths in the companion start from its directory.
    """
    file = path.with_name(f"{path.name}.yaml")
    if not file.is_file():
        return Companion(file.name, options), []
    tree, findings = read_document(file)
    if not isinstance(tree, LocatedMapping):
        if tree is not None:
            findings.append(Diagnostic.of("SO0009", "the companion is a mapping", location=f"{file}:1"))
        return Companion(file.name, options), findings
    for key in tree:
        if key not in _KEYS:
            message = f"there is no key {key}{nearest(key, _KEYS)}"
            findings.append(Diagnostic.of("SO0007", message, location=tree.location(key)))

    def taken(key: str, *, fits: bool, what: str) -> Any:
        if key in tree and not fits:
            findings.append(Diagnostic.of("SO0009", f"{key} is {what}", location=tree.location(key)))
        return tree.get(key) if fits else None

    main, toolkits, define, data = (tree.get(key) for key in _OPTIONS)
    main = taken("main", fits=isinstance(main, str), what="a text")
    listed = is_list(toolkits) and all(isinstance(each, str) for each in toolkits)
    toolkits = taken("toolkits", fits=listed, what="a list of directories")
    given: dict[str, Any] = taken("define", fits=is_mapping(define), what="a mapping") or {}
    data = taken("data", fits=isinstance(data, str), what="a directory")
    options = SplOptions(
        options.main or main,
        (*options.toolkits, *(path.parent / each for each in toolkits or ())),
        {key: str(value) for key, value in given.items()} | dict(options.define),
        options.data or (None if data is None else path.parent / data),
    )
    operators = _named(tree, "operators", _operator, findings)
    return Companion(file.name, options, operators, _named(tree, "functions", _function, findings)), findings


Wrong = Callable[[str], None]
"""A function that reports a fault of an entry, given as a message."""


def _named(
    tree: LocatedMapping, key: str, read: Callable[[Any, Wrong], _T | None], findings: list[Diagnostic]
) -> dict[str, _T]:
    """Return the valid entries of a section of the companion by name, and report the faulty ones."""
    section = tree.get(key)
    if section is None:
        return {}
    if not isinstance(section, LocatedMapping):
        findings.append(Diagnostic.of("SO0009", f"{key} is a mapping from names", location=tree.location(key)))
        return {}
    found: dict[str, _T] = {}
    for name in section:

        def wrong(what: str, name: str = name) -> None:
            findings.append(Diagnostic.of("SO0009", f"{key}: {name}: {what}", location=section.location(name)))

        if not _KIND.fullmatch(name):
            wrong("the name is written with its namespace: ns::name")
            continue
        entry = read(section[name], wrong)
        if entry is not None:
            found[name] = entry
    return found


def _operator(value: Any, wrong: Wrong) -> str | LocatedMapping | None:
    if isinstance(value, LocatedMapping) or (isinstance(value, str) and _MODULE.fullmatch(value)):
        return value
    wrong("a class is expected, package.module:Class, or a mapping with implementation and keys of a declaration")
    return None


def _function(value: Any, wrong: Wrong) -> CompanionFunction | None:
    entry: dict[str, Any] = {"python": value} if isinstance(value, str) else value
    if not is_mapping(entry):
        wrong("a Python function is expected, package.module:name, or a mapping with python, pure and signature")
        return None
    for key in entry:
        if key not in _FUNCTION:
            wrong(f"there is no key {key}{nearest(key, _FUNCTION)}")
            return None
    python, pure, signature = (entry.get(key) for key in _FUNCTION)
    if not isinstance(python, str) or not _MODULE.fullmatch(python):
        wrong("python: a function is expected, package.module:name")
        return None
    if not isinstance(pure, bool | None):
        wrong("pure: true or false is expected")
        return None
    signatures: Sequence[Any] = signature if is_list(signature) else [] if signature is None else [signature]
    for each in signatures:
        try:
            signature_of_text("", without_names(each if isinstance(each, str) else ""))
        except UnreadableSignatureError:
            wrong("signature: one or more of `TYPE name(TYPE, ...)` are expected, with types written out")
            return None
    return CompanionFunction(python, bool(pure), tuple(signatures))
