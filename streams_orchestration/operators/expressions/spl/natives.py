"""Native functions of SPL in parameters: `{native: "ns::f", signature: "int32 f(rstring)", python: "module:name"}`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from streams_orchestration.operators.loading.import_path import ImplementationError, import_name

if TYPE_CHECKING:
    from streams_orchestration.spl.programs.natives import NativeFunction


class NativeEntry(BaseModel):
    """A native function that a program calls, with the Python function that replaces it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    native: str
    signature: str = ""
    python: str = ""
    pure: bool = False
    at: str = Field(default="", exclude=True)


def native_functions(entries: Iterable[NativeEntry]) -> tuple[NativeFunction, ...]:
    """Import the Python functions that implement native functions.

    Raises:
        ImplementationError: a native function has no signature or no Python function, or one that cannot be used.
    """
    return tuple(dict.fromkeys(map(native_function, entries)))


def native_function(entry: NativeEntry) -> NativeFunction:
    """Import the Python function that implements a native function.

    Raises:
        ImplementationError: the signature is missing or faulty, or the Python function is missing, cannot be imported,
            or is not callable.
    """
    from streams_orchestration.spl.functions.signatures import UnreadableSignatureError, signature_of_text
    from streams_orchestration.spl.programs.natives import NativeFunction

    if not entry.python or not entry.signature:
        what = "signature" if entry.python else "function in Python"
        message = f"{entry.native} is a native function without a {what}; declare one in the companion (SO0711)"
        raise ImplementationError(message)
    namespace, _, _ = entry.native.rpartition("::")
    try:
        signature = replace(signature_of_text(namespace, entry.signature), native=True, pure=entry.pure)
    except UnreadableSignatureError as error:
        message = f"{entry.native}: {error}"
        raise ImplementationError(message) from error
    imported: Any = import_name(entry.python)
    if not callable(imported):
        message = f"{entry.native}: {entry.python} is not a function"
        raise ImplementationError(message)
    return NativeFunction(signature, entry.python, imported)
