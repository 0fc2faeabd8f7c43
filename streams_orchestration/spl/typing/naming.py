"""Resolution of the names and written types of a program."""

from __future__ import annotations

from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.tree import Node
from streams_orchestration.spl.types.joining import AttributeConflictError, joined
from streams_orchestration.spl.types.types import (
    UNKNOWN,
    BoundedString,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Tuple,
    TupleAttribute,
    Type,
)
from streams_orchestration.spl.typing.scopes import (
    Actual,
    EnumWord,
    FunctionName,
    Meaning,
    OtherName,
    OutputName,
    PortAttributeName,
    PortName,
    Scope,
    StreamName,
    TypeName,
    Unclear,
    is_unclear,
    member_of,
)
from streams_orchestration.spl.typing.spans import Mistake, Source, Span
from streams_orchestration.spl.typing.typed import Constant

DEEPEST = 50
"""The most steps from a formal parameter to its actual, which may itself be a formal of the composite around it."""


class Naming:
    """A resolver of names and types.

    Attributes:
        scope: the scope in which names are resolved.
        site: the scope whose input ports expressions read. It differs from `scope` for an actual parameter of a
            composite, whose names are resolved at the invocation.
    """

    def __init__(self, source: Source, scope: Scope, mistakes: list[Mistake], site: Scope | None = None) -> None:
        """Begin in a scope; mistakes are appended to `mistakes`."""
        self.source = source
        self.scope = scope
        self.mistakes = mistakes
        self.site = site
        self.depth = 0

    # --- mistakes

    def span(self, node: Node) -> Span:
        """Return the span of a syntax node in the source."""
        return Span(self.source, node.first, node.last)

    def report(self, code: str, message: str, node: Node) -> None:
        """Report a mistake at a node."""
        self.mistakes.append(Mistake(code, message, self.span(node)))

    # --- names

    def find(self, name: tree.Name) -> Meaning | None:
        """Return the meaning of a name; None if it has none.

        If the name is ambiguous, report that and return an `Unclear`.
        """
        meaning = self.scope.find(name.name, name.namespace)
        if isinstance(meaning, Unclear):
            self.report(meaning.code, meaning.message, name)
        return meaning

    def static(self, written: tree.Expression) -> Meaning | None:
        """Return the meaning of any name, or of a member of a type or composite, as a word of an enumeration.

        The result for other expressions and unknown names is None. An ambiguous name gives an `Unclear`, which is not
        reported, unlike in `find`.
        """
        if isinstance(written, tree.Name):
            return self.scope.find(written.name, written.namespace)
        if not isinstance(written, tree.Member):
            return None
        meaning = self.static(written.operand)
        if isinstance(meaning, TypeName) and isinstance(meaning.type, Enumeration):
            known = written.name.name in meaning.type.words
            return EnumWord((meaning.type,)) if known else None
        return member_of(meaning, written.name.name)

    def within(self, actual: Actual) -> Naming:
        """Return a resolver for an actual parameter, which resolves names in the scope of the invocation."""
        inner = type(self)(actual.source, actual.scope, self.mistakes, self.site or self.scope)
        inner.depth = self.depth + 1
        return inner

    def is_too_deep(self, node: Node) -> bool:
        """Return True, and report a mistake, if actual parameters are nested too deeply."""
        if self.depth < DEEPEST:
            return False
        self.report("SO0701", f"the actuals of parameters are nested more than {DEEPEST} deep", node)
        return True

    # --- types

    def type(self, written: tree.Type) -> Type:
        """Return the type that is written; report mistakes in it. For a name that denotes no type it is `UNKNOWN`."""
        match written:
            case tree.PrimitiveType(name=name, bound=bound):
                return Primitive(name) if bound is None else BoundedString(self._bound(bound))
            case tree.EnumType(words=words):
                self._refuse_twice(words, "a word of this enumeration")
                return Enumeration(tuple(dict.fromkeys(word.name for word in words)))
            case tree.CollectionType(kind=kind, elements=elements, bound=bound):
                limit = None if bound is None else self._bound(bound)
                return Collection(kind, tuple(map(self.type, elements)), limit)
            case tree.OptionalType(content=content):
                inner = self.type(content)
                if isinstance(inner, Optional):
                    self.report("CDISP0050E", f"{inner} is optional already", content)
                return inner if isinstance(inner, Optional) or inner == UNKNOWN else Optional(inner)
            case tree.TupleType():
                return self.tuple_type(written)
            case tree.NamedType():
                return self.named_type(written)

    def tuple_type(self, written: tree.TupleType) -> Type:
        """Return the type of `tuple<...>`, which lists attributes, or names tuple types whose attributes it joins.

        Report repeated attributes and other mistakes; return `UNKNOWN` if a base is not a tuple type or does not fit.
        """
        if not written.bases:
            self._refuse_twice(tuple(each.name for each in written.attributes), "an attribute of this type")
            attributes: dict[str, TupleAttribute] = {}
            for each in written.attributes:
                attributes.setdefault(each.name.name, TupleAttribute(each.name.name, self.type(each.type)))
            return Tuple(tuple(attributes.values()))
        bases: list[Tuple] = []
        for base in written.bases:
            type_ = self.type(base)
            if not isinstance(type_, Tuple):
                if type_ != UNKNOWN:
                    self.report("CDISP0050E", f"{type_} is not a tuple type, so nothing can be joined with it", base)
                return UNKNOWN
            bases.append(type_)
            try:
                joined(bases)
            except AttributeConflictError as error:
                self.report("CDISP0690E", str(error), base)
                return UNKNOWN
        return joined(bases)

    def named_type(self, written: tree.NamedType) -> Type:
        """Return the type that a name denotes, or a composite's type that a member denotes.

        Report a name that does not denote a type, and return `UNKNOWN` for it.
        """
        name = written.name
        meaning = self.find(name)
        if written.member:
            if isinstance(meaning, OtherName):
                meaning = member_of(meaning, written.member)
                if meaning is None:
                    self.report(
                        "CDISP0053E", f"{name} has no type {written.member} that is visible from outside", written
                    )
                    return UNKNOWN
            elif meaning is not None and not isinstance(meaning, Unclear):
                self.report("CDISP0050E", f"{name} is not a composite, so it has no type {written.member}", name)
                return UNKNOWN
        if isinstance(meaning, Actual):
            return self._type_of_actual(meaning, name)
        type_ = type_of_meaning(meaning)
        if type_ is None:
            if meaning is None:
                self.report("CDISP0053E", f"there is no type {name}", name)
            elif not is_unclear(meaning):
                self.report("CDISP0050E", f"{name} is not a type", name)
        return UNKNOWN if type_ is None else type_

    def _type_of_actual(self, actual: Actual, name: tree.Name) -> Type:
        if self.is_too_deep(name):
            return UNKNOWN
        written = type_of_values(actual.values)
        if actual.mode != "type" or written is None:
            self.report("CDISP0050E", f"{name} is not a type", name)
            return UNKNOWN
        return self.within(actual).type(written)

    def _bound(self, written: tree.Expression) -> int:
        bound = self.constant_integer(written)
        if bound is None or bound < 1:
            self.report("CDISP0490E", "the bound of a type must be a constant integer of at least 1", written)
            return 1
        return bound

    def constant_integer(self, written: tree.Expression) -> int | None:
        """Return the value of an integer expression that is known at compile time, or None; subclasses implement it."""
        raise NotImplementedError

    def _refuse_twice(self, names: tuple[tree.Name, ...], what: str) -> None:
        seen: set[str] = set()
        for name in names:
            if name.name in seen:
                self.report("CDISP0690E", f"{name} is {what} twice", name)
            seen.add(name.name)


def type_of_meaning(meaning: Meaning | None) -> Type | None:
    """Return the type that a meaning denotes: a type, or the tuple type of a stream or port.

    The result is None for other meanings.
    """
    match meaning:
        case TypeName(type=type_) | StreamName(type=type_):
            return type_
        case PortName(port=port) | OutputName(port=port):
            return port.type
        case _:
            return None


def type_of_values(values: tree.Type | tuple[tree.Expression, ...]) -> tree.Type | None:
    """Return the value of an actual parameter as a written type; None if it cannot be a type."""
    if not isinstance(values, tuple):
        return values
    match values:
        case (tree.Name() as name,):
            return tree.NamedType(name.first, name.last, name, "")
        case (tree.Member(operand=tree.Name() as name, name=member) as whole,):
            return tree.NamedType(whole.first, whole.last, name, member.name)
        case _:
            return None


def named_actual(name: tree.Name, scope: Scope) -> tuple[tree.Name, Scope] | None:
    """Return the name that an invocation passes for a formal parameter, and the scope in which it is used.

    It is found in at most `DEEPEST` steps; None if the passed value is not a name. Another name is returned itself.
    """
    for _ in range(DEEPEST):
        meaning = scope.find(name.name) if name.name.startswith("$") else None
        if not isinstance(meaning, Actual):
            break
        named = type_of_values(meaning.values)
        if not isinstance(named, tree.NamedType):
            return None
        name, scope = named.name, meaning.scope
    return name, scope


def is_value(meaning: Meaning | None) -> bool:
    """Return True if a name denotes a value, and not a type or another definition."""
    if isinstance(meaning, Actual):
        return meaning.mode in ("expression", "attribute")
    return meaning is not None and not isinstance(
        meaning, TypeName | StreamName | PortName | OutputName | FunctionName | OtherName | Unclear
    )


def word_of(meaning: EnumWord, name: str, span: Span, expected: Type | None) -> Constant:
    """Return the constant for a word of enumerations: of the expected type if that has the word, else of the first."""
    wanted = expected.content if isinstance(expected, Optional) else expected
    type_ = next((each for each in meaning.types if each == wanted), meaning.types[0])
    return Constant(span, type_, name)


def attribute_at(site: Scope, name: str, type_: Type) -> PortAttributeName | None:
    """Return the attribute with this name and type of an input port that a scope can read, or None."""
    ports = (each.port for each in site.all_of(PortName))
    return next((PortAttributeName(each, name, type_) for each in ports if each.type.type_of(name) == type_), None)


def tuple_at(site: Scope, meaning: PortName) -> PortName | None:
    """Return the input port that a scope can read and that has the tuple type of a port at the invocation, or None.

    Args:
        site: the scope; its own ports come first, then the ports of the scopes around it, in their order.
        meaning: the port at the invocation.
    """
    return next((each for each in site.all_of(PortName) if each.port.type == meaning.port.type), None)
