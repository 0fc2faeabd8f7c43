"""Validation of a document: the application in it, with all errors at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from pydantic import ValidationError

from streams_orchestration.model.application import Application
from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.declarations import check_declarations
from streams_orchestration.model.diagnostics import CODES, ApplicationError, Diagnostic, errors_of, in_order
from streams_orchestration.model.document import LocatedList, LocatedMapping
from streams_orchestration.model.names import nearest, nearest_name
from streams_orchestration.model.scopes import check_names
from streams_orchestration.model.secrets import HIDDEN, names_secret
from streams_orchestration.model.values import show

KeyPath = tuple[str | int, ...]

_MISSING = {"CDISP0840E": {"consistent"}, "SO0303": {"inputs", "outputs"}, "SO0405": {"parameters"}}
"""Code of a missing key -> keys; the finding is ignored if a faulty element below one of these keys was removed."""
MOST_ATTEMPTS = 10
"""The most times that a document is validated, each time without the parts that were faulty before.

A document that is still faulty then has no usable part.
"""
_CONTAINERS = {"model_type": "a mapping", "dict_type": "a mapping", "tuple_type": "a list", "list_type": "a list"}
_SCALARS = {"bool_type": "true or false", "int_type": "an integer", "string_type": "a text", "float_type": "a number"}


def application_from_mapping(mapping: Mapping[str, Any]) -> Application:
    """Load an application from a mapping, which has the same keys and shorthands as a spec in YAML.

    Raises:
        ApplicationError: the application has errors; all are reported.
    """
    return without_errors(*validate_document(mapping))


def without_errors(application: Application | None, diagnostics: Iterable[Diagnostic]) -> Application:
    """Return the application.

    Raises:
        ApplicationError: the application is None, or some of the diagnostics are errors.
    """
    diagnostics = tuple(diagnostics)
    if application is None or errors_of(diagnostics):
        raise ApplicationError(in_order(diagnostics))
    return application


def validate_document(tree: Any, location: str = "") -> tuple[Application | None, list[Diagnostic]]:
    """Validate a parsed document. Return the application without its faulty parts, and all diagnostics; never raises.

    The application is None if the document is not a mapping, or still faulty after `MOST_ATTEMPTS`. Findings that only
    follow from leaving parts out are dropped. `location` is the place of a document that is not a mapping.
    """
    if not isinstance(tree, Mapping):
        return None, [Diagnostic.of("SO0009", f"the spec is a mapping, not {show(tree)}", location=location)]
    document = cast("Mapping[str, Any]", tree)
    remaining: Any = document if is_mapping(document) else dict(document)
    diagnostics: list[Diagnostic] = []
    lost: set[str] = set()
    broken: dict[str, set[str | int]] = {}
    for attempt in range(MOST_ATTEMPTS):
        context: dict[str, Any] = {}
        try:
            application = Application.model_validate(remaining, by_alias=True, by_name=False, context=context)
        except ValidationError as failure:
            errors = failure.errors(include_url=False, include_input=False)
            # Later errors only follow from leaving a broken part out, and do not help the user.
            if attempt == 0:
                classes = context.get("classes", {})
                diagnostics += [finding(error, remaining, classes) for error in errors]
                for error in errors:
                    operator = _operator(remaining, _existing(error["loc"], remaining))
                    broken.setdefault(operator, set()).update((*error["loc"], *_meant(error, remaining, classes)))
            remaining = _without(remaining, [_existing(error["loc"], remaining) for error in errors], lost)
            continue
        known = {(diagnostic.code, diagnostic.location) for diagnostic in diagnostics if diagnostic.location}
        for diagnostic in [*check_names(application, lost), *check_declarations(application)]:
            follows = _MISSING.get(diagnostic.code, set()) & broken.get(diagnostic.operator, set())
            if not follows and (diagnostic.code, diagnostic.location) not in known:
                diagnostics.append(diagnostic)
        return application, diagnostics
    return None, diagnostics


def _meant(error: Any, tree: Any, classes: dict[int, Any]) -> tuple[str, ...]:
    """Return the known key that is most similar to an unknown key; empty for another error, or without known keys."""
    if error["type"] != "extra_forbidden":
        return ()
    path = _existing(error["loc"], tree)
    element = classes.get(id(_at(tree, path[:-1]))) if path else None
    match = nearest_name(str(path[-1]), element.keys()) if element is not None else None
    return (match,) if match is not None else ()


def _existing(loc: KeyPath, tree: Any) -> KeyPath:
    """Return the longest prefix of an error's path that exists in the document.

    The rest of the path comes from shorthands, which were expanded during validation.
    """
    node: Any = tree
    for length, step in enumerate(loc):
        if not _has(node, step):
            return loc[:length]
        node = node[step]
    return loc


def _has(node: Any, step: str | int) -> bool:
    return (is_mapping(node) and step in node) or (is_list(node) and isinstance(step, int) and step < len(node))


def _at(tree: Any, path: KeyPath) -> Any:
    for step in path:
        tree = tree[step]
    return tree


def _scalars(value: Any) -> list[Any]:
    """Return all scalars in a part of a document."""
    parts = value.values() if is_mapping(value) else value if is_list(value) else None
    return [value] if parts is None else [each for part in parts for each in _scalars(part)]


def finding(error: Any, tree: Any, classes: dict[int, Any]) -> Diagnostic:
    """Convert an error of pydantic to a diagnostic with its place.

    The message hides the values below a key that names a secret.

    Args:
        error: one entry of `ValidationError.errors`.
        tree: the document.
        classes: the model class of each mapping in the document, by the mapping's `id`.
    """
    loc: KeyPath = tuple(error["loc"])
    path = _existing(loc, tree)
    kind: str = error["type"]
    parent = _at(tree, path[:-1]) if path else tree
    if kind == "extra_forbidden":
        element = classes.get(id(parent))
        known = element.keys() if element is not None else ()
        code = "SO0007"
        if _annotated(path):
            code = "CDISP0796E" if path[-2] in ("annotations", "eventTime") else "CDISP0797E"
        message = f"there is no key {path[-1]}{nearest(str(path[-1]), known)}"
    elif kind == "missing":
        code = "SO0008"
        if _annotated(loc):
            code = "CDISP0827E" if "partitionBy" in loc else "CDISP0799E"
        message = f"the key {loc[-1]} is missing"
    elif kind in CODES:
        code, message = kind, error["msg"]
        if kind == "SO0009" and _annotated(loc):
            code = "CDISP0811E"
    else:
        code, message = _standard_message(error, _at(tree, path))
        if code == "SO0009" and _annotated(loc):
            code = "CDISP0811E"
    if any(names_secret(str(part)) for part in path):
        for value in _scalars(_at(tree, path)):
            message = message.replace(show(value), HIDDEN)
    location = tree.location(*path) if isinstance(tree, LocatedMapping) else ""
    where = _dotted(path if kind != "missing" else loc[:-1])
    return Diagnostic.of(
        code, f"{where}: {message}" if where else message, operator=_operator(tree, path), location=location, path=path
    )


def _standard_message(error: Any, value: Any) -> tuple[str, str]:
    kind: str = error["type"]
    if kind in _CONTAINERS or kind in _SCALARS:
        return "SO0009", f"{(_CONTAINERS | _SCALARS)[kind]} is expected, not {show(value)}"
    if kind == "literal_error":
        expected = error.get("ctx", {}).get("expected", "")
        return "SO0010", f"{show(value)} is not one of {expected}"
    if kind.startswith(("greater_than", "less_than")):
        return "SO0401", f"{show(value)}: {error['msg'][0].lower()}{error['msg'][1:]}"
    return "SO0009", f"{show(value)}: {error['msg'][0].lower()}{error['msg'][1:]}"


def _annotated(path: KeyPath) -> bool:
    """Return True if a path leads into an annotation, beyond the key `annotations` itself."""
    return "annotations" in path[:-1]


def _dotted(path: KeyPath) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def _operator(tree: Any, path: KeyPath) -> str:
    """Return the name of the invocation that a path leads into, prefixed with its composite; empty for other paths."""
    for position, step in enumerate(path):
        if step == "graph" and len(path) > position + 1:
            invocation = _at(tree, path[: position + 2])
            name = invocation.get("name") if is_mapping(invocation) else None
            if isinstance(name, str):
                return f"{path[1]}.{name}" if path[0] == "composites" else name
    return ""


def _texts(node: Any) -> Iterable[str]:
    if isinstance(node, str):
        yield node
    elif is_mapping(node):
        for key, value in node.items():
            yield str(key)
            yield from _texts(value)
    elif is_list(node):
        for entry in node:
            yield from _texts(entry)


def _copy(node: Any) -> Any:
    """Return a deep copy of a document's tree with the same line numbers, whose containers may be modified."""
    if isinstance(node, LocatedMapping):
        mapping = LocatedMapping(node.file, node.line, node.column)
        mapping.update({key: _copy(value) for key, value in node.items()})
        mapping.lines, mapping.columns = dict(node.lines), dict(node.columns)
        return mapping
    if isinstance(node, LocatedList):
        entries = LocatedList()
        entries.extend(map(_copy, node))
        entries.lines, entries.columns = list(node.lines), list(node.columns)
        return entries
    if is_mapping(node):
        return {key: _copy(value) for key, value in node.items()}
    return [_copy(entry) for entry in node] if is_list(node) else node


def _without(tree: Any, paths: Iterable[KeyPath], lost: set[str]) -> Any:
    """Return a copy of the tree without the elements at `paths`; the texts in these are added to `lost`.

    The empty path is of a missing key of the whole document: an application without a name gets one.
    """
    tree = _copy(tree)
    order = [[(step if isinstance(step, int) else -1, str(step)) for step in path] for path in set(paths)]
    for keys in sorted(order, reverse=True):
        path: KeyPath = tuple(index if index >= 0 else text for index, text in keys)
        if _existing(path, tree) != path:
            continue
        if not path:
            tree.setdefault("application", "application")
            continue
        parent = _at(tree, path[:-1])
        lost.update(_texts(parent[path[-1]]))
        del parent[path[-1]]
        if isinstance(parent, LocatedList):
            del parent.lines[int(path[-1])]
            del parent.columns[int(path[-1]) : int(path[-1]) + 1]
    return tree
