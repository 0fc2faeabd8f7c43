"""`spl.utility`: Imports and Exports at the ports of an operator, which its program reads and changes.

A function returns 0, or a number of Streams: 1 for a port without such an Import or Export, 2 for a wrong value.
"""

from __future__ import annotations

# pyright: standard
from collections.abc import Callable
from typing import Any

from streams_orchestration.spl.programs.errors import DONE, NO_PORT, WRONG
from streams_orchestration.spl.programs.library.registry import plain, typed
from streams_orchestration.spl.programs.values import plain_function
from streams_orchestration.spl.types.text import ValueTextError, text_of, value_of
from streams_orchestration.spl.types.types import FLOAT64, INT64, RSTRING, Collection, Tuple, Type

_SCALARS: dict[str, Type] = {"int64": INT64, "float64": FLOAT64, "rstring": RSTRING}
_LISTS: dict[str, Type] = {f"list<{name}>": Collection("list", (kind,)) for name, kind in _SCALARS.items()}
_TYPES = _SCALARS | _LISTS
"""The types of properties, by their names."""


@plain("setInputPortImportSubscription", run=True)
def set_subscription(run: Any, subscription: str, port: int) -> int:
    """Change the subscription of an Import, and remove its filter."""
    return NO_PORT if run.links is None else run.links.subscribe(port, subscription)


@plain("setInputPortImportFilterExpression", run=True)
def set_filter(run: Any, condition: str, port: int) -> int:
    """Change the filter of an Import; an empty text removes it."""
    return NO_PORT if run.links is None else run.links.filter_by(port, condition)


@plain("getInputPortImportSubscription", run=True, assigns=(1,))
def get_subscription(run: Any, port: int, _: int) -> tuple[str, int]:
    """Return the subscription of an Import, an empty text without one, and the number."""
    found = None if run.links is None else run.links.subscription(port)
    return ("", NO_PORT) if found is None else (found, DONE)


@plain("getInputPortImportFilterExpression", run=True, assigns=(1,))
def get_filter(run: Any, port: int, _: int) -> tuple[str, int]:
    """Return the filter of an Import, empty if there is none, and the number."""
    found = None if run.links is None else run.links.filter(port)
    return ("", NO_PORT) if found is None else (found, DONE)


@typed("setOutputPortExportProperties", when=lambda types: isinstance(types[0], Tuple), run=True)
def _set_tuple(types: tuple[Type, ...], _: Type) -> Callable[..., int]:
    """Return the function for properties that are the attributes of a tuple."""
    type_ = types[0]
    assert isinstance(type_, Tuple)
    fits = {each.type for each in type_.attributes} <= set(_TYPES.values())
    plain_ = plain_function(type_)

    def set_tuple(run: Any, properties: Any, port: int) -> int:
        if run.links is None or run.links.properties(port) is None:
            return NO_PORT
        return run.links.offer(port, plain_(properties)) if fits else WRONG

    return set_tuple


@plain("setOutputPortExportProperties", when=lambda types: not isinstance(types[0], Tuple), run=True)
def set_list(run: Any, properties: list[dict[str, str]], port: int) -> int:
    """Replace the properties of an Export by a list of names, each with the text of its value and its type."""
    if run.links is None or run.links.properties(port) is None:
        return NO_PORT
    values: dict[str, Any] = {}
    for each in properties:
        kind = _TYPES.get(each["typ"].replace(" ", ""))
        if kind is None:
            return WRONG
        try:
            [values[each["name"]]] = value_of(f"[{each['value']}]", Collection("list", (kind,)))
        except (ValueTextError, ValueError):
            return WRONG
    return run.links.offer(port, values)


@plain("getOutputPortExportProperties", run=True, assigns=(0,))
def get_properties(run: Any, before: list[dict[str, str]], port: int) -> tuple[int, list[dict[str, str]]]:
    """Assign the properties of an Export, each with its name, the text of its value and its type; return the number.

    Without an Export, the argument keeps its value.
    """
    found = None if run.links is None else run.links.properties(port)
    if found is None:
        return NO_PORT, before
    kinds = {name: _type_of(value) for name, value in found.items()}
    texts = {name: text_of([found[name]], Collection("list", (kind,)))[1:-1] for name, kind in kinds.items()}
    return DONE, [{"name": name, "value": texts[name], "typ": str(kind)} for name, kind in kinds.items()]


def _type_of(value: Any) -> Type:
    if isinstance(value, list):
        kinds = {_type_of(each) for each in value} or {RSTRING}
        return Collection("list", (FLOAT64 if FLOAT64 in kinds else kinds.pop(),))
    return RSTRING if isinstance(value, str) else FLOAT64 if isinstance(value, float) else INT64
