"""Choice among functions of one name by the types of their arguments.

>>> from streams_orchestration.spl.functions.signatures import builtin
>>> from streams_orchestration.spl.types.types import INT32, NULL, RSTRING, Collection
>>> chosen = choose(builtin("has"), (Collection("map", (RSTRING, INT32)), RSTRING))
>>> str(chosen.signature), str(chosen.result)
('boolean has(map<K, V>, K)', 'boolean')
>>> choose(builtin("length"), (INT32,)) is None
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from streams_orchestration.spl.functions.signatures import Signature
from streams_orchestration.spl.types.joining import common, fits
from streams_orchestration.spl.types.types import (
    BLOB,
    BOOLEAN,
    COMPLEX,
    DECIMALS,
    EMPTY_BRACES,
    FLOATS,
    INTEGERS,
    NULL,
    REALS,
    RSTRING,
    TIMESTAMP,
    UNKNOWN,
    USTRING,
    VOID,
    XML,
    BoundedString,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Special,
    Tuple,
    Type,
    is_string,
)


@dataclass(frozen=True, slots=True)
class Match:
    """A function chosen for a call, with the types of its parameters and its result in this call."""

    signature: Signature
    parameters: tuple[Type, ...]
    result: Type


def choose(overloads: Sequence[Signature], arguments: Sequence[Type]) -> Match | None:
    """Return the overload that accepts the arguments; one without conversions precedes one with conversions.

    None if none accepts them. Of several, the one with the fewest type parameters is chosen, then the first.
    """
    fitting = [each for each in overloads if len(each.parameters) == len(arguments)]
    for exact in (True, False):
        matches = [match for each in fitting if (match := _match(each, arguments, exact=exact)) is not None]
        if matches:
            return min(matches, key=lambda match: len(match.signature.variables))
    return None


def is_of_class(type_: Type, kind: str) -> bool:
    """Return True if a type belongs to a class of types, such as `ordered`; an unknown type belongs to every class.

    >>> is_of_class(BOOLEAN, "ordered"), is_of_class(BOOLEAN, "numeric")
    (True, False)
    """
    return type_ == UNKNOWN or _CLASSES[kind](type_)


_CLASSES: dict[str, Callable[[Type], bool]] = {
    "any": lambda type_: type_ not in (VOID, NULL),
    "boolean": lambda type_: type_ == BOOLEAN,
    "integral": lambda type_: type_ in INTEGERS,
    "float": lambda type_: type_ in FLOATS,
    "decimal": lambda type_: type_ in DECIMALS,
    "floatingpoint": lambda type_: type_ in FLOATS or type_ in DECIMALS,
    "complex": lambda type_: type_ in COMPLEX,
    "numeric": lambda type_: type_ in REALS or type_ in COMPLEX,
    "string": is_string,
    "addable": lambda type_: type_ in REALS or type_ in COMPLEX or type_ == TIMESTAMP or is_string(type_),
    "subtractable": lambda type_: type_ in REALS or type_ in COMPLEX or type_ == TIMESTAMP,
    "andorable": lambda type_: type_ in INTEGERS or type_ == BOOLEAN,
    "ordered": lambda type_: (
        type_ in REALS or type_ in (BOOLEAN, TIMESTAMP, BLOB) or is_string(type_) or isinstance(type_, Enumeration)
    ),
    "primitive": lambda type_: isinstance(type_, Primitive | BoundedString | Enumeration),
    "equatable": lambda type_: type_ not in (XML, VOID),
    "enum": lambda type_: isinstance(type_, Enumeration),
    "tuple": lambda type_: isinstance(type_, Tuple),
    "xml": lambda type_: type_ == XML,
    "list": lambda type_: isinstance(type_, Collection) and type_.kind == "list",
    "set": lambda type_: (isinstance(type_, Collection) and type_.kind == "set") or type_ == EMPTY_BRACES,
    "map": lambda type_: (isinstance(type_, Collection) and type_.kind == "map") or type_ == EMPTY_BRACES,
    "collection": lambda type_: isinstance(type_, Collection) or type_ == EMPTY_BRACES,
    "composite": lambda type_: isinstance(type_, Collection | Tuple | Optional),
}


@dataclass(slots=True)
class _Binding:
    """The values of an overload's type and bound parameters that the arguments matched so far determine."""

    classes: dict[str, str]
    exact: bool
    types: dict[str, Type] = field(default_factory=dict[str, Type])
    bounds: dict[int, int] = field(default_factory=dict[int, int])

    def takes(self, pattern: Type, type_: Type, *, fixed: bool) -> bool:
        """Bind the variables of a parameter's pattern to an argument's type; return False if they do not match.

        With `fixed`, the argument is not converted.
        """
        match pattern:
            case Special(name=name) if name in self.classes:
                return self._takes_variable(name, type_, fixed=fixed)
            case Collection() if isinstance(type_, Collection):
                alike = pattern.kind == type_.kind and self._takes_bound(pattern.bound, type_.bound)
                pairs = zip(pattern.elements, type_.elements, strict=True) if alike else ()
                return alike and all(self.takes(*pair, fixed=fixed) for pair in pairs)
            case Collection(kind="set" | "map"):
                return type_ in (EMPTY_BRACES, UNKNOWN)
            case BoundedString() if isinstance(type_, BoundedString):
                return self._takes_bound(pattern.bound, type_.bound)
            case _:
                return self._takes_concrete(pattern, type_, fixed=fixed)

    def _takes_concrete(self, pattern: Type, type_: Type, *, fixed: bool) -> bool:
        if type_ in (pattern, UNKNOWN):
            return True
        if self.exact or fixed:
            return False
        shortened = pattern == RSTRING and isinstance(type_, BoundedString)
        return shortened or fits(type_, pattern)

    def _takes_variable(self, name: str, type_: Type, *, fixed: bool) -> bool:
        bound = self.types.get(name)
        if type_ == NULL and isinstance(bound, Optional) and not self.exact:
            return True
        if not is_of_class(type_, self.classes[name]):
            return False
        if bound is None or bound == type_:
            self.types[name] = type_
            return True
        if self.exact and UNKNOWN not in (bound, type_):
            return False
        if fixed and not fits(bound, type_):
            return False
        shared = type_ if fixed else _shared(bound, type_)
        if shared is None:
            return False
        self.types[name] = shared
        return True

    def _takes_bound(self, pattern: int | None, bound: int | None) -> bool:
        if pattern is None or pattern >= 0:
            return pattern == bound or (pattern is None and not self.exact)
        return bound is not None and self.bounds.setdefault(pattern, bound) == bound

    def concrete(self, pattern: Type) -> Type:
        """Return a pattern with its type variables and variable bounds replaced by the values of the call.

        A type variable without a value becomes `UNKNOWN`.
        """
        match pattern:
            case Special(name=name) if name in self.classes:
                return self.types.get(name, UNKNOWN)
            case Collection():
                bound = self.bounds.get(pattern.bound, pattern.bound) if pattern.bound is not None else None
                return Collection(pattern.kind, tuple(map(self.concrete, pattern.elements)), bound)
            case BoundedString():
                return BoundedString(self.bounds.get(pattern.bound, pattern.bound))
            case _:
                return pattern


def _shared(first: Type, second: Type) -> Type | None:
    """Return the common type of two arguments for one type parameter; bounded strings have the common type rstring.

    None if there is none.
    """
    if isinstance(first, BoundedString) or isinstance(second, BoundedString):
        both = is_string(first) and is_string(second) and USTRING not in (first, second)
        return RSTRING if both else None
    return common(first, second)


def _match(signature: Signature, arguments: Sequence[Type], *, exact: bool) -> Match | None:
    binding = _Binding(dict(signature.variables), exact)
    for parameter, argument in zip(signature.parameters, arguments, strict=True):
        if not binding.takes(parameter.type, argument, fixed=parameter.mutable):
            return None
    parameters = tuple(binding.concrete(each.type) for each in signature.parameters)
    return Match(signature, parameters, binding.concrete(signature.result))
