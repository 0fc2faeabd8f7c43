"""Parser of types."""

from __future__ import annotations

from abc import ABC, abstractmethod

from streams_orchestration.spl.language.recovery import Reader
from streams_orchestration.spl.language.tokens import string_value
from streams_orchestration.spl.language.tree import (
    AttributeDeclaration,
    CollectionType,
    EnumType,
    Expression,
    Name,
    NamedType,
    OptionalType,
    PrimitiveType,
    TupleType,
    Type,
)

COLLECTIONS = {"list": 1, "set": 1, "map": 2}
"""Collection type -> the number of its element types."""
_PRIMITIVES = """
    boolean int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 decimal32 decimal64 decimal128
    complex32 complex64 timestamp blob rstring ustring xml
"""
PRIMITIVES = frozenset(_PRIMITIVES.split())
TYPE_WORDS = PRIMITIVES | COLLECTIONS.keys() | {"tuple", "enum", "optional"}
"""The keywords that begin a type."""


class TypeReader(Reader, ABC):
    """A parser of types. Bounds in types are expressions, which a subclass parses.

    `Reader` describes the errors of its methods.
    """

    @abstractmethod
    def expression(self) -> Expression:
        """Read an expression."""

    def type(self) -> Type:
        """Read a type. Raises FaultError if there is none, NestingError if it is nested too deeply."""
        first, text = self.at, self.texts[self.at]
        if self.kinds[first] == "word":
            return self._named_type()
        if text in PRIMITIVES:
            return self._primitive_type()
        self.deeper()
        if text == "tuple":
            self.at += 1
            written: Type = self.tuple_type(first)
        elif text in COLLECTIONS:
            self.at += 1
            written = self._collection_type(first, text)
        elif text == "optional":
            self.at += 1
            self.expect("<")
            content = self.type()
            self.expect(">")
            written = OptionalType(first, self.at - 1, content)
        elif text == "enum":
            written = self._enum_type()
        else:
            self.refuse("a type")
        self.depth -= 1
        return written

    def tuple_type(self, first: int) -> TupleType:
        """Read `<...>` after the token `first`, which is `tuple` or `stream`."""
        self.expect("<")
        inner = self.at
        attributes, bases = self._tuple_body_behind(inner, self.type())
        self.expect(">")
        return TupleType(first, self.at - 1, attributes, bases)

    def type_tail(self) -> Type:
        """Read the right side of a type definition: a type, or the attributes of a tuple type without brackets."""
        first = self.at
        written = self.type()
        if self.kinds[self.at] != "word" and self.texts[self.at] != ",":
            return written
        attributes, bases = self._tuple_body_behind(first, written)
        return TupleType(first, self.at - 1, attributes, bases)

    def _tuple_body_behind(
        self, first: int, written: Type
    ) -> tuple[tuple[AttributeDeclaration, ...], tuple[Type, ...]]:
        """Read the rest of a tuple type's body after its first type.

        Return the attributes, and the types whose attributes the tuple type combines; one of the two is empty.
        """
        if self.kinds[self.at] != "word" and isinstance(written, NamedType | TupleType):
            return (), self._bases(written)
        attributes = [self._attribute(first, written)]
        while self.accept(","):
            first = self.at
            attributes.append(self._attribute(first, self.type()))
        return tuple(attributes), ()

    def _attribute(self, first: int, written: Type) -> AttributeDeclaration:
        name = self.declared("the name of an attribute")
        return AttributeDeclaration(first, self.at - 1, written, name)

    def _bases(self, written: Type) -> tuple[Type, ...]:
        bases = [written]
        while self.accept(","):
            base = self.type()
            if not isinstance(base, NamedType | TupleType):
                self.refuse("',' and another tuple type")
            bases.append(base)
        return tuple(bases)

    def _named_type(self) -> NamedType:
        end = self.end_of_type_name(self.at)
        if end is None:
            self.refuse("the name of a type")
        return self.type_name_up_to(end)

    def type_name_up_to(self, end: int) -> NamedType:
        """Read a type name that ends right before the token `end`."""
        first, parts = self.at, list(self.texts[self.at : end])
        self.at = end
        if "::" not in parts:
            member = parts[2] if len(parts) > 1 else ""
            return NamedType(first, end - 1, Name(first, first, "", parts[0]), member)
        colons = parts.index("::")
        name = Name(first, first + colons + 1, "".join(parts[:colons]), parts[colons + 1])
        return NamedType(first, end - 1, name, parts[-1] if len(parts) > colons + 2 else "")

    def end_of_type_name(self, at: int) -> int | None:
        """Return the index of the token after a type name that begins at a token; None if no type name begins there."""
        kinds, texts = self.kinds, self.texts
        if kinds[at] != "word":
            return None
        end = at + 1
        while texts[end] == "." and kinds[end + 1] == "word":
            end += 2
        if texts[end] == "::":
            if kinds[end + 1] != "word":
                return None
            end += 2
            if texts[end] == "." and kinds[end + 1] == "word":
                end += 2
            return end
        return end if end <= at + 3 else None

    def _primitive_type(self) -> PrimitiveType:
        first, name = self.at, self.texts[self.at]
        self.at += 1
        bound, schema = None, None
        if name == "rstring":
            bound = self._bound()
        elif name == "xml" and self.accept("<"):
            if self.kinds[self.at] != "string":
                self.refuse("the schema of the XML type, a string")
            schema = string_value(self.texts[self.at])
            self.at += 1
            self.expect(">")
        return PrimitiveType(first, self.at - 1, name, bound, schema)

    def _collection_type(self, first: int, kind: str) -> CollectionType:
        self.expect("<")
        elements = [self.type()]
        for _ in range(1, COLLECTIONS[kind]):
            self.expect(",")
            elements.append(self.type())
        self.expect(">")
        bound = self._bound()
        return CollectionType(first, self.at - 1, kind, tuple(elements), bound)

    def _bound(self) -> Expression | None:
        if not self.accept("["):
            return None
        self.deeper()
        bound = self.expression()
        self.depth -= 1
        self.expect("]")
        return bound

    def _enum_type(self) -> EnumType:
        first = self.at
        self.at += 1
        self.expect("{")
        words = [self.declared("a word of the enumeration")]
        while self.accept(","):
            words.append(self.declared("a word of the enumeration"))
        self.expect("}")
        return EnumType(first, self.at - 1, tuple(words))
