"""Signatures of functions. Built-in functions are in the file `builtin.txt`, whose entries are parsed on demand.

>>> for signature in builtin("appendM")[:2]:
...     print(signature)
void appendM(mutable list<T>, T)
void appendM(mutable list<T>[N], T)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from streams_orchestration.spl.language.tree import qualified
from streams_orchestration.spl.types.types import (
    VOID,
    BoundedString,
    Collection,
    Enumeration,
    Special,
    Type,
)
from streams_orchestration.spl.types.written import WrittenTypeError, type_of_text

BOUNDS = {"N": -1, "M": -2}
"""The numbers that represent the letters N and M in a type such as `list<int32>[N]`, which match any bound."""
_EFFECTS = """
    print println printString printStringLn flushStdio appTrc appLog log assert submit resetConsistentRegion
"""
EFFECTS = frozenset(_EFFECTS.split())
"""Built-in functions that have an effect, although their signature does not say `stateful`."""
_DETERMINED = frozenset(("spl.collection", "spl.math", "spl.string"))
"""Namespaces of built-in functions that depend on their arguments, and on nothing else unless they are stateful."""
_KINDS = """
    any boolean collection complex composite decimal enum float floatingpoint integral list map numeric ordered
    primitive set string tuple xml
"""
TOOLKITS = frozenset(("com.ibm.streamsx.json",))
"""Namespaces of toolkits whose native functions are built in, too."""
CLASSES = frozenset(_KINDS.split())
"""The classes of types to which a type parameter may be restricted."""
_FUNCTION = re.compile(
    r"(?P<stateful>stateful )?(?:<(?P<variables>[^>]*)> )?(?:\[[NM,]+\] )?(?P<result>\S.*?) (?P<name>\w+)"
    r"\((?P<parameters>.*)\)"
)
_NAMED = re.compile(r"\b(?:Sys|Log|Trace)\.\w+")
_BOUND = re.compile(r"\[([NM])\]")
_STAND_INS = {"N": 2**31 + 1, "M": 2**31 + 2}
"""Letter of a variable bound -> the number that replaces it while a type is parsed; no program has such a bound."""


class UnreadableSignatureError(ValueError):
    """The text is not a signature."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function; a `mutable` one is changed by the call."""

    type: Type
    mutable: bool = False

    def __str__(self) -> str:
        return f"{'mutable ' * self.mutable}{_shown(self.type)}"


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of a function.

    Attributes:
        variables: the type parameters, each with the class of types that it accepts; in types, `Special` represents
            one.
        stateful: True if results depend on more than the arguments, or something else changes.
        native: True if the function is not defined in SPL.
        pure: True if a native function is known to have no effect besides its result.
    """

    namespace: str
    name: str
    parameters: tuple[Parameter, ...]
    result: Type
    stateful: bool = False
    variables: tuple[tuple[str, str], ...] = ()
    native: bool = False
    pure: bool = False

    def __str__(self) -> str:
        return f"{_shown(self.result)} {self.name}({', '.join(map(str, self.parameters))})"

    @property
    def full_name(self) -> str:
        """The function's name with its namespace."""
        return qualified(self.namespace, self.name)

    @property
    def text(self) -> str:
        """The signature in the form that `signature_of_text` parses."""
        variables = ", ".join(f"{kind} {name}" for name, kind in self.variables)
        return f"{'stateful ' * self.stateful}{f'<{variables}> ' * bool(variables)}{self}"

    @property
    def is_standard(self) -> bool:
        """True if SPL itself defines the function."""
        return self.namespace == "spl" or self.namespace.startswith("spl.")

    @property
    def is_builtin(self) -> bool:
        """True if the function is implemented here: one of SPL itself, or of a toolkit in `TOOLKITS`."""
        return self.is_standard or (self.namespace in TOOLKITS and not self.native)

    @property
    def is_pure(self) -> bool:
        """True if a call has no effect, and always gives the same result for the same arguments."""
        has_effect = (self.native and not self.pure) or (self.is_standard and self.name in EFFECTS)
        return not (self.stateful or has_effect or any(each.mutable for each in self.parameters))

    @property
    def is_determined(self) -> bool:
        """True if the arguments of a call determine its result, which depends neither on the operator nor on time."""
        return self.namespace in _DETERMINED and self.is_pure


def builtin(name: str, namespace: str = "") -> tuple[Signature, ...]:
    """Return the signatures of all built-in functions with a name, in all namespaces of SPL itself or in one."""
    return tuple(each for each in _builtin(name) if (each.namespace == namespace if namespace else each.is_standard))


def logic_function(name: str) -> tuple[Signature, ...]:
    """Return the signatures of `submit` or `currentPunct`, which only logic may call; none for any other name."""
    return tuple(_signature("spl", text) for text in _lines().functions.get(("logic", name), ()))


def builtin_type(composite: str, name: str) -> Type | None:
    """Return a type of `spl::Sys`, `Log` or `Trace`; None if there is none.

    >>> str(builtin_type("Sys", "Kind"))
    'enum{Gauge, Counter, Time}'
    """
    written = _lines().types.get(f"{composite}.{name}")
    return None if written is None else _type(written, ())


def builtin_types(composite: str) -> dict[str, Type]:
    """Return the types of `spl::Sys`, `Log` or `Trace` by name; empty for any other composite."""
    names = [each.partition(".")[2] for each in _lines().types if each.startswith(f"{composite}.")]
    return {name: type_ for name in names if (type_ := builtin_type(composite, name)) is not None}


def builtin_names() -> frozenset[str]:
    """Return the names of all built-in functions of SPL itself."""
    return frozenset(name for namespace, name in _lines().functions if namespace not in ("logic", *TOOLKITS))


def builtin_namespaces() -> frozenset[str]:
    """Return the namespaces that have built-in functions."""
    return frozenset(namespace for namespace, _ in _lines().functions if namespace != "logic")


@dataclass(frozen=True, slots=True)
class _Lines:
    """The unparsed lines of `builtin.txt`: functions by namespace and name, types by name."""

    functions: dict[tuple[str, str], list[str]]
    types: dict[str, str]


@cache
def _lines() -> _Lines:
    text = files("streams_orchestration.spl.functions").joinpath("builtin.txt").read_text(encoding="utf-8")
    functions: dict[tuple[str, str], list[str]] = {}
    types: dict[str, str] = {}
    section = ""
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            section = line
        elif section == "spl types":
            name, _, written = line.strip().partition(" = ")
            types[name] = written
        else:
            match = _FUNCTION.fullmatch(line.strip())
            assert match is not None, line
            functions.setdefault((section, match["name"]), []).append(line.strip())
    return _Lines(functions, types)


@cache
def _builtin(name: str) -> tuple[Signature, ...]:
    return tuple(
        _signature(namespace, text)
        for (namespace, each), texts in _lines().functions.items()
        if each == name and namespace != "logic"
        for text in texts
    )


def signature_of_text(namespace: str, text: str) -> Signature:
    """Parse a signature in the form of `builtin.txt`.

    Raises:
        UnreadableSignatureError: the text is not a signature, or names a type that is not built in.
    """
    try:
        return _signature(namespace, text)
    except WrittenTypeError as error:
        raise UnreadableSignatureError(str(error)) from error


@cache
def _signature(namespace: str, text: str) -> Signature:
    match = _FUNCTION.fullmatch(text)
    if match is None:
        message = f"{text!r} is not a signature of a function"
        raise UnreadableSignatureError(message)
    variables: list[tuple[str, str]] = []
    for part in (match["variables"] or "").split(","):
        if part:
            kind, variable = part.split()
            if kind not in CLASSES:
                message = f"{text!r} has a type parameter of an unknown class"
                raise UnreadableSignatureError(message)
            variables.append((variable, kind))
    names = tuple(name for name, _ in variables)
    parameters: list[Parameter] = []
    for part in separated(match["parameters"]):
        mutable = part.startswith("mutable ")
        parameters.append(Parameter(_type(part.removeprefix("mutable "), names), mutable))
    result = VOID if match["result"] == "void" else _type(match["result"], names)
    return Signature(
        *(namespace, match["name"], tuple(parameters), result),
        stateful=match["stateful"] is not None,
        variables=tuple(variables),
    )


def separated(text: str) -> list[str]:
    """Split a text at its commas outside of brackets; parts lose blanks at their ends, and empty parts are left out."""
    parts, level = [""], 0
    for sign in text:
        level += (sign in "<{[") - (sign in ">}]")
        if sign == "," and level == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]


def _type(written: str, variables: tuple[str, ...]) -> Type:
    """Parse a type that may contain type parameters.

    `T` is parsed as `enum{T}`, and then replaced by the type variable.
    """
    written = _NAMED.sub(lambda match: _lines().types.get(match[0], match[0]), written)
    for variable in variables:
        written = re.sub(rf"\b{variable}\b(?!\])", f"enum{{{variable}}}", written)
    written = _BOUND.sub(lambda match: f"[{_STAND_INS[match[1]]}l]", written)
    return _with_variables(type_of_text(written), variables)


def _with_variables(type_: Type, variables: tuple[str, ...]) -> Type:
    match type_:
        case Enumeration(words=(word,)) if word in variables:
            return Special(word)
        case Collection():
            elements = tuple(_with_variables(each, variables) for each in type_.elements)
            return Collection(type_.kind, elements, _bound(type_.bound))
        case BoundedString():
            return BoundedString(_bound(type_.bound) or 0)
        case _:
            return type_


def _bound(bound: int | None) -> int | None:
    return next((BOUNDS[letter] for letter, each in _STAND_INS.items() if each == bound), bound)


def _shown(type_: Type) -> str:
    text = str(type_)
    for letter, bound in BOUNDS.items():
        text = text.replace(f"[{bound}]", f"[{letter}]")
    return text
