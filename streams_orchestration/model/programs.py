"""Programs of SPL as parameters: expressions `{spl: "n > 1", at: "Main.spl:14:22"}`, and logic `spl: {onTuple: …}`.

Nothing is substituted in them, since `${...}` may stand in a string of SPL.
"""

from __future__ import annotations

from typing import Any

from streams_orchestration.model.containers import is_mapping

OWN_LOGIC = frozenset(("Beacon", "Custom", "DirectoryScan", "FileSource", "Filter", "Functor"))
"""The standard operators that run logic of SPL by themselves, since their expressions may read its variables."""
LOGIC = "spl"
"""The parameter with the logic of an operator, and the key of an expression's text."""
NATIVE = "native"
"""The key of a native function's name among the functions of a program."""
CONSTANTS = "constants"
"""The key of logic in which submission-time values are substituted."""


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
    """Return True for an entry of the parameters in which nothing is substituted, because it holds only programs."""
    return key == LOGIC and is_mapping(value)


def has_process(parameters: Any) -> bool:
    """Return True if the parameters of an operator have logic with `onProcess`, so that it is a source."""
    logic = parameters.get(LOGIC) if is_mapping(parameters) else None
    return is_mapping(logic) and bool(logic.get("onProcess"))


def runs_logic(kind: str, *, inputs: bool) -> bool:
    """Return True if a standard operator runs logic of SPL by itself; a FileSource does without input ports only."""
    return kind in OWN_LOGIC and not (inputs and kind == "FileSource")


def has_handlers(parameters: Any) -> bool:
    """Return True if the parameters of an operator have logic that runs beside the operator's own code.

    >>> has_handlers({"spl": {"onTuple": {0: "n++;"}}}), has_handlers({"spl": {"functions": []}})
    (True, False)
    """
    logic = parameters.get(LOGIC) if is_mapping(parameters) else None
    return is_mapping(logic) and any(logic.get(clause) for clause in ("state", "onTuple", "onPunct"))


def has_variables(parameters: Any) -> bool:
    """Return True if the parameters of an operator have logic with variables, so that it keeps state."""
    logic = parameters.get(LOGIC) if is_mapping(parameters) else None
    return is_mapping(logic) and bool(logic.get("state"))
