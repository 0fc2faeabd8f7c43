"""SPL types of Arrow columns: strings are rstrings, arrays are lists, and no value is null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streams_orchestration.model.programs import LOGIC
from streams_orchestration.operators.expressions.spl.text import SplText, over_columns
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.spl.types.types import (
    BLOB,
    BOOLEAN,
    RSTRING,
    TIMESTAMP,
    Collection,
    Primitive,
    Tuple,
    TupleAttribute,
    Type,
)
from streams_orchestration.spl.types.written import WrittenTypeError, type_of_text


def tuple_type(schema: pa.Schema) -> Tuple:
    """Return the type of the tuples of a stream, without columns of keys, which have `@` in their names.

    Raises:
        ValueError: an attribute has a type that SPL does not have.
    """
    own = (field for field in schema if "@" not in field.name)  # columns of keys are not attributes
    return Tuple(tuple(TupleAttribute(field.name, spl_type(field.name, field.type)) for field in own))


def written_tuple_type(written: str, schema: pa.Schema) -> Tuple:
    """Return the tuple type of a stream. A written tuple type gives those attribute types that columns cannot express.

    Raises:
        ValueError: the text is not a tuple type, or an attribute has a type that SPL does not have.
    """
    columns = tuple_type(schema)
    if not written:
        return columns
    given = type_of_text(written)
    if not isinstance(given, Tuple):
        message = f"{written} is not a tuple type"
        raise WrittenTypeError(message)
    return Tuple(tuple(TupleAttribute(each.name, given.type_of(each.name) or each.type) for each in columns.attributes))


def written_attribute_type(written: str, name: str) -> Type | None:
    """Return the type of an attribute in the text of a tuple type; None if the text does not have it.

    Raises:
        WrittenTypeError: the text is neither empty nor a type.
    """
    given = type_of_text(written) if written else None
    return given.type_of(name) if isinstance(given, Tuple) else None


def spl_type(name: str, kind: pa.DataType) -> Type:
    """Return the type of the values of a column.

    Raises:
        ValueError: SPL has no such type.
    """
    types = pa.types
    if types.is_integer(kind):
        return Primitive(str(kind))
    if types.is_floating(kind):
        return Primitive({"float": "float32", "double": "float64"}[str(kind)])
    if types.is_list(kind):
        return Collection("list", (spl_type(name, kind.value_type),))
    if types.is_map(kind):
        return Collection("map", (spl_type(name, kind.key_type), spl_type(name, kind.item_type)))
    if types.is_struct(kind):
        return Tuple(tuple(TupleAttribute(field.name, spl_type(name, field.type)) for field in kind))
    if types.is_timestamp(kind) and kind.unit == "ns":
        return TIMESTAMP
    simple = {pa.bool_(): BOOLEAN, pa.string(): RSTRING, pa.binary(): BLOB}
    if kind not in simple:
        message = f"{name} is {kind}, but SPL has no such type"
        raise ValueError(message)
    return simple[kind]


def variable_columns(parameters: object) -> tuple[str, ...]:
    """Return the variables of an operator's SPL logic that are columns of its input ports; none without logic."""
    return getattr(getattr(parameters, LOGIC, None), "columns", ())


def columns_of_ports(
    ports: Sequence[str], inputs: Sequence[pa.Schema], names: Sequence[str], variables: Sequence[str]
) -> dict[tuple[str, str], str]:
    """Map each pair of port name and attribute to the column of the joined tuple. Variables have no port.

    Args:
        ports: the names of the ports, as far as they are known.
        inputs: the attributes of each port.
        names: the names of all columns of the joined tuple: the attributes, port by port, then the variables.
        variables: the variables of SPL logic that are columns.
    """
    known = [*ports, *("" for _ in inputs)]
    attributes = [(known[port], name) for port, schema in enumerate(inputs) for name in schema.names]
    return dict(zip([*attributes, *(("", name) for name in variables)], names, strict=True))


def over_ports(texts: Mapping[str, str], columns: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """Return expressions of SPL over the joined columns of several ports. Expressions in SQL are not changed.

    Args:
        texts: the expressions by attribute.
        columns: the column of each attribute, by the names of port and attribute.
    """
    return {name: _over_columns(text, columns) if isinstance(text, SplText) else text for name, text in texts.items()}


def _over_columns(text: SplText, columns: Mapping[tuple[str, str], str]) -> SplText:
    types: list[TupleAttribute] = []
    for label, written in text.types.items():
        given = type_of_text(written)
        for each in given.attributes if isinstance(given, Tuple) else ():
            if (label, each.name) in columns:
                types.append(TupleAttribute(columns[label, each.name], each.type))
    return over_columns(text, columns, str(Tuple(tuple(types))) if types else "")
