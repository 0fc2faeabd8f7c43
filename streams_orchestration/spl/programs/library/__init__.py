"""The built-in functions of SPL over Python values, with a module for each namespace.

>>> from streams_orchestration.spl.types.types import INT32, RSTRING
>>> substring = builtin("substring", (RSTRING, INT32, INT32))
>>> substring.make((RSTRING, INT32, INT32), RSTRING)("abcdef", 2, 3)
'cde'
"""

from __future__ import annotations

# pyright: standard
from streams_orchestration.spl.programs.library import (
    spl_calendar,
    spl_collection,
    spl_collection_keys,
    spl_collection_search,
    spl_decimals,
    spl_files,
    spl_links,
    spl_math,
    spl_math_lists,
    spl_numbers,
    spl_string,
    spl_time,
    spl_utility,
    streamsx_json,
)
from streams_orchestration.spl.programs.library.registry import BUILTINS, Builtin
from streams_orchestration.spl.types.types import Type

_MODULES = (
    *(spl_string, spl_numbers, spl_collection, spl_collection_keys, spl_collection_search),
    *(spl_decimals, spl_math, spl_math_lists, spl_time, spl_calendar, spl_files, spl_links, spl_utility),
    streamsx_json,
)


def builtin(name: str, types: tuple[Type, ...]) -> Builtin | None:
    """Return the implementation of a built-in function for some argument types; None if there is none."""
    return next((each for when, each in BUILTINS.get(name, ()) if when(types)), None)


def names() -> frozenset[str]:
    """Return the names of all functions with an implementation."""
    return frozenset(BUILTINS)
