"""Typing of literals, and of parts of values: attributes, elements, slices."""

from __future__ import annotations

from streams_orchestration.spl.language import tree
from streams_orchestration.spl.types.joining import common
from streams_orchestration.spl.types.literals import LiteralError, number
from streams_orchestration.spl.types.types import (
    BLOB,
    BOOLEAN,
    EMPTY_BRACES,
    EMPTY_LIST,
    INTEGERS,
    NULL,
    RSTRING,
    UINT8,
    UNKNOWN,
    USTRING,
    VOID,
    BoundedString,
    Collection,
    Optional,
    Primitive,
    Tuple,
    TupleAttribute,
    Type,
    is_string,
)
from streams_orchestration.spl.typing.calls import CallTyping
from streams_orchestration.spl.typing.conversions import converted
from streams_orchestration.spl.typing.naming import word_of
from streams_orchestration.spl.typing.scopes import EnumWord, OtherName, TypeName
from streams_orchestration.spl.typing.typed import (
    Constant,
    Expression,
    Index,
    ListOf,
    MapOf,
    Member,
    SetOf,
    Slice,
    TupleOf,
    Typed,
)


class LiteralTyping(CallTyping):
    """The typing of literals, and of attributes, elements and slices of values."""

    def literal(self, written: tree.Literal, expected: Type | None) -> Expression:
        """Return the typed tree of a literal, and report mistakes; `expected` is the type that the context expects."""
        span = self.span(written)
        match written:
            case tree.Number():
                return self.number(written, written.text, negative=False)
            case tree.Text():
                return Constant(span, Primitive(written.kind), written.value)
            case tree.Word(text="null"):
                return Constant(span, NULL, None)
            case tree.Word():
                return Constant(span, BOOLEAN, written.text == "true")
            case _:
                return self._collection(written, expected)

    def number(self, written: tree.Expression, text: str, *, negative: bool) -> Expression:
        """Return the typed constant of a number; report a number that is malformed or out of range.

        Args:
            written: the expression.
            text: the number without its minus.
            negative: True if a minus precedes it.
        """
        try:
            literal = number(text, negative=negative)
        except LiteralError as error:
            self.report(error.code, str(error), written)
            return self.wrong(written)
        return Constant(self.span(written), literal.type, literal.value)

    def _collection(self, written: tree.ListLiteral | tree.BraceLiteral, expected: Type | None) -> Expression:
        span = self.span(written)
        wanted = expected.content if isinstance(expected, Optional) else expected
        elements = wanted.elements if isinstance(wanted, Collection) else ()
        first = elements[0] if elements else None
        if isinstance(written, tree.ListLiteral):
            values = [self.value(each, first) for each in written.elements]
            type_ = self._shared(values, written.elements, EMPTY_LIST.elements[0], first)
            return ListOf(span, Collection("list", (type_,)), self._each(values, type_))
        if not written.entries:
            return MapOf(span, EMPTY_BRACES, ())
        if all(_attribute_name(entry) is not None for entry in written.entries):
            return self._tuple(written, wanted)
        keys = [self.value(entry.key, first) for entry in written.entries]
        key_type = self._shared(keys, tuple(entry.key for entry in written.entries), UNKNOWN, first)
        written_values = tuple(entry.value for entry in written.entries if entry.value is not None)
        if not written_values:
            return SetOf(span, Collection("set", (key_type,)), self._each(keys, key_type))
        if len(written_values) < len(keys):
            self.report("CDISP0009E", "a map has a value after ':' for each key, and a set has none", written)
            return self.wrong(written)
        values = [self.value(each, elements[-1] if elements else None) for each in written_values]
        value_type = self._shared(values, written_values, UNKNOWN, elements[-1] if elements else None)
        entries = tuple(zip(self._each(keys, key_type), self._each(values, value_type), strict=True))
        return MapOf(span, Collection("map", (key_type, value_type)), entries)

    def _tuple(self, written: tree.BraceLiteral, wanted: Type | None) -> Expression:
        values: dict[str, Expression] = {}
        for entry in written.entries:
            name = _attribute_name(entry)
            assert name is not None
            assert isinstance(entry.key, tree.Binary)
            if name.name in values:
                self.report("CDISP0690E", f"{name} is an attribute of this tuple twice", name)
                continue
            hint = wanted.type_of(name.name) if isinstance(wanted, Tuple) else None
            value = self.value(entry.key.right, hint)
            if value.type in (NULL, VOID) and hint is None:
                self.report("CDISP0863E", f"the type of {name} is not known from {value.type}", entry.key.right)
                value = self.wrong(entry.key.right)
            values[name.name] = value if hint is None else converted(value, hint) or value
        type_ = Tuple(tuple(TupleAttribute(name, value.type) for name, value in values.items()))
        return TupleOf(self.span(written), type_, tuple(values.items()))

    def _shared(
        self, values: list[Expression], written: tuple[tree.Expression, ...], empty: Type, wanted: Type | None
    ) -> Type:
        """Return the common type of a literal's elements; report an element that has no common type with the others.

        Without elements it is `empty`, and if all are null, the expected optional type, or else a mistake. After a
        mistake it is `UNKNOWN`.
        """
        shared = empty
        for value, each in zip(values, written, strict=True):
            together = common(shared, value.type) if shared != empty else value.type
            if together in (None, VOID):
                self.report("CDISP0046E", f"the earlier elements are {shared}, but this one is {value.type}", each)
                return UNKNOWN
            shared = together or UNKNOWN
        if shared == NULL and isinstance(wanted, Optional):
            return wanted
        if shared == NULL:
            self.report("CDISP0863E", "a literal that contains only nulls has no type; cast one of them", written[0])
            return UNKNOWN
        return shared

    def _each(self, values: list[Expression], type_: Type) -> tuple[Expression, ...]:
        return tuple(converted(value, type_) or value for value in values)

    def part(self, written: tree.Member | tree.Index | tree.Slice, expected: Type | None) -> Expression:
        """Return the typed tree of an attribute, an element or a slice of a value; report mistakes in it."""
        match written:
            case tree.Member():
                return self._member(written, expected)
            case tree.Index():
                return self._index(written)
            case tree.Slice():
                return self._slice(written)

    def _member(self, written: tree.Member, expected: Type | None) -> Expression:
        name = written.name
        meaning = self.static(written)
        if isinstance(meaning, EnumWord):
            return word_of(meaning, name.name, self.span(written), expected)
        attribute = self.port_attribute(written)
        if attribute is not None:
            return attribute
        if isinstance(self.static(written.operand), OtherName | TypeName):
            self.report("CDISP0053E", f"{self.span(written.operand).text} has no {name}", name)
            return self.wrong(written)
        operand = self.value(written.operand)
        if operand.type == UNKNOWN:
            return operand
        type_ = operand.type.type_of(name.name) if isinstance(operand.type, Tuple) else None
        if type_ is None:
            self.report("CDISP0051E", f"{name} is not an attribute of {operand.type}", name)
            return self.wrong(written)
        return Member(self.span(written), type_, operand, name.name)

    def _index(self, written: tree.Index) -> Expression:
        operand = self.value(written.operand)
        type_ = operand.type
        is_map = isinstance(type_, Collection) and type_.kind == "map"
        index = self.value(written.index, type_.elements[0] if isinstance(type_, Collection) and is_map else None)
        if UNKNOWN in (type_, index.type):
            result = _element_of(type_) if type_ != UNKNOWN else None
            return Typed(self.span(written), result or UNKNOWN)
        if isinstance(type_, Collection) and is_map:
            key = converted(index, type_.elements[0])
            if key is not None:
                return Index(self.span(written), type_.elements[1], operand, key)
        element = _element_of(type_)
        if is_map or element is None or index.type not in INTEGERS:
            self.report("CDISP0037E", f"{type_} has no element with an index of type {index.type}", written)
            return self.wrong(written)
        return Index(self.span(written), element, operand, index)

    def _slice(self, written: tree.Slice) -> Expression:
        operand = self.value(written.operand)
        bounds = [None if each is None else self.value(each) for each in (written.lower, written.upper)]
        types = {each.type for each in bounds if each is not None}
        if UNKNOWN in types or operand.type == UNKNOWN:
            return Typed(self.span(written), operand.type)
        is_list = isinstance(operand.type, Collection) and operand.type.kind == "list"
        if not (is_list or is_string(operand.type) or operand.type == BLOB) or not types <= INTEGERS.keys():
            shown = " and ".join(sorted(map(str, types)))
            self.report("CDISP0038E", f"{operand.type} has no slice with bounds of type {shown}", written)
            return self.wrong(written)
        result = RSTRING if isinstance(operand.type, BoundedString) else operand.type
        return Slice(self.span(written), result, operand, *bounds)


def _element_of(type_: Type) -> Type | None:
    """Return the type of `value[n]` for an integer n; None if values of the type cannot be indexed so.

    An element of a tuple, as of a window's stream, has the tuple's type.
    """
    match type_:
        case Collection(kind="list", elements=(element,)):
            return element
        case BoundedString():
            return RSTRING
        case Tuple():
            return type_
        case _:
            if type_ == BLOB:
                return UINT8
            return type_ if type_ in (RSTRING, USTRING) else None


def _attribute_name(entry: tree.Entry) -> tree.Name | None:
    """Return the name of the attribute to which an entry in braces assigns; None if the entry is not an assignment."""
    if entry.value is None and isinstance(entry.key, tree.Binary) and entry.key.operator == "=":
        left = entry.key.left
        return left if isinstance(left, tree.Name) and not left.namespace else None
    return None
