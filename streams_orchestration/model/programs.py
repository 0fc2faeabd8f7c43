"""SPL code in parameters: expressions `{spl: "n > 1", at: "Main.spl:14:22"}`, and logic `spl: {onTuple: …}`.

References are not substituted in SPL code, since `${...}` may be part of a string of SPL.
"""

from __future__ import annotations

import re
from typing import Any, cast

from streams_orchestration.model.containers import is_mapping

OWN_LOGIC = frozenset(("Beacon", "Custom", "DirectoryScan", "FileSource", "Filter", "Functor", "Parse"))
"""The standard operators that run SPL logic themselves, since their expressions may read its variables."""
LOGIC = "spl"
"""The name of the parameter that holds an operator's SPL logic, and the key of the text in an SPL expression."""
NATIVE = "native"
"""The key that marks a native function in a program's list of functions, and holds its name."""
FUNCTIONS = "functions"
"""The key of a program's or a logic's list of the functions that it calls."""
LINK_FUNCTIONS = (
    *("getOutputPortExportProperties", "setOutputPortExportProperties", "getInputPortImportSubscription"),
    *("setInputPortImportSubscription", "getInputPortImportFilterExpression", "setInputPortImportFilterExpression"),
)
"""Functions of SPL that read or change the Imports and Exports at the ports of an operator."""
_LINKS = re.compile(rf"\b(?:{'|'.join(LINK_FUNCTIONS)})\b")
CONSTANTS = "constants"
"""The key of the part of SPL logic in which references are replaced by submission-time values."""


def is_program(value: Any) -> bool:
    """Return True for an expression of SPL.

    >>> is_program({"spl": "n > 1", "at": "Main.spl:14:22"}), is_program({"spl": {"onTuple": {}}})
    (True, False)
    """
    return is_mapping(value) and isinstance(value.get(LOGIC), str)


def is_native(value: Any) -> bool:
    """Return True for a native function that a program calls.

    >>> is_native({"native": "ns::f", "signature": "int32 f(rstring)", "python": "module:f"})
    True
    """
    return is_mapping(value) and isinstance(value.get(NATIVE), str)


def is_fixed(key: object, value: Any) -> bool:
    """Return True for a parameter whose value is SPL logic, in which no references are substituted."""
    return key == LOGIC and is_mapping(value)


def without_places(value: Any) -> Any:
    """Return parameters without the places of their SPL code, so that code that only moved compares equal.

    >>> without_places({"filter": {"spl": "n > 1", "at": "Main.spl:14:22"}})
    {'filter': {'spl': 'n > 1'}}
    >>> without_places({"output": {"spl": "n + 1", "at": "n + 2"}})
    {'output': {'spl': 'n + 1', 'at': 'n + 2'}}
    >>> without_places({"spl": {"onTuple": {"0": {"spl": "{ n++; }", "lines": [3]}}, "at": "Main.spl:2:9"}})
    {'spl': {'onTuple': {'0': '{ n++; }'}}}
    """
    if isinstance(value, list | tuple):
        return [without_places(each) for each in cast("list[Any]", value)]
    if not is_mapping(value):
        return value
    kept = {key: _functions(each) if key == FUNCTIONS else without_places(each) for key, each in value.items()}
    if is_program(value):
        own = {key: each for key, each in kept.items() if not _is_place(key, each)}
        return own | {LOGIC: one_line(value[LOGIC])}
    if is_mapping(value.get(LOGIC)):
        kept[LOGIC] = {key: _bodies(each) for key, each in kept[LOGIC].items() if key not in _PLACES}
    return kept


_PLACES = ("at", "lines")
"""Keys of SPL code that hold its place in the source."""
_PLACE = re.compile(r"[^'\"]*\.spl(:\d+){0,2}")


def _is_place(key: str, value: Any) -> bool:
    """Return True for an entry with a place; an output clause may have attributes called `spl`, `at` and `lines`."""
    if key == "at":
        return isinstance(value, str) and (not value or _PLACE.fullmatch(value) is not None)
    return key in _PLACES and not isinstance(value, str)


def _functions(value: Any) -> Any:
    """Return a list of functions without their places; another value as `without_places` returns it."""
    if not isinstance(value, list | tuple):
        return without_places(value)
    return [
        {key: entry for key, entry in each.items() if key not in _PLACES} if is_native(each) else without_places(each)
        for each in cast("list[Any]", value)
    ]


def one_line(text: str) -> str:
    """Return a canonical text of SPL without line breaks; these are only between statements."""
    return text.replace("\n", " ")


def _bodies(value: Any) -> Any:
    """Return a part of SPL logic in which each body `{spl: text}` is replaced by its text.

    A body with further keys is kept.
    """
    if is_mapping(value):
        return value[LOGIC] if value.keys() == {LOGIC} else {key: _bodies(each) for key, each in value.items()}
    return [_bodies(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


def has_process(parameters: Any) -> bool:
    """Return True if an operator's parameters have SPL logic with an `onProcess` clause, which makes it a source."""
    return _has_clause(parameters, "onProcess")


def runs_logic(kind: str) -> bool:
    """Return True if a standard operator runs SPL logic itself."""
    return kind in OWN_LOGIC


def has_handlers(parameters: Any) -> bool:
    """Return True if the parameters of an operator have logic that runs beside the operator's own code.

    >>> has_handlers({"spl": {"onTuple": {0: "n++;"}}}), has_handlers({"spl": {"functions": []}})
    (True, False)
    """
    return _has_clause(parameters, "state", "onTuple", "onPunct")


def has_variables(parameters: Any) -> bool:
    """Return True if an operator's parameters have SPL logic with state variables."""
    return _has_clause(parameters, "state")


def _has_clause(parameters: Any, *clauses: str) -> bool:
    logic = parameters.get(LOGIC) if is_mapping(parameters) else None
    return is_mapping(logic) and any(logic.get(clause) for clause in clauses)


def uses_links(value: Any) -> bool:
    """Return True if a program in an operator's parameters may read or change Imports and Exports.

    >>> uses_links({"spl": {"onTuple": {0: 'setInputPortImportSubscription("a == 1", 0u);'}}}), uses_links({"spl": {}})
    (True, False)
    """
    if is_mapping(value):
        return any(map(uses_links, value.values()))
    if isinstance(value, list | tuple):
        return any(map(uses_links, cast("list[Any]", value)))
    return isinstance(value, str) and _LINKS.search(value) is not None
