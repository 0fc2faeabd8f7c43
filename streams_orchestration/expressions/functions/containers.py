"""Arrays, maps and structs: made, indexed and counted; functions of maps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from streams_orchestration.expressions.coercion import common, common_of
from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.functions.matching import split
from streams_orchestration.expressions.table import Binding, FunctionGroup, Operand, Resolved, TupleFunction
from streams_orchestration.expressions.types import BOOLEAN, INT, VOID, array_of, map_of, struct_of

CONTAINERS = FunctionGroup("Arrays, maps and structs")


def _elements(operands: Sequence[Operand]) -> Resolved | None:
    kind = common_of(each.type for each in operands)
    return None if kind is None else Resolved((kind,) * len(operands), array_of(kind))


CONTAINERS.function(
    summary="Make an array of the arguments.",
    examples=[("array(1, NULL, 2)", "[1, null, 2]")],
    resolver=_elements,
    name="array",
    strict=False,
)(lambda *values: values)


def _map_types(operands: Sequence[Operand]) -> Resolved | None:
    key = common_of(each.type for each in operands[::2])
    value = common_of(each.type for each in operands[1::2])
    if len(operands) % 2 or key is None or value is None or key.name == "map":
        return None
    return Resolved(tuple((key, value)[place % 2] for place in range(len(operands))), map_of(key, value))


def mapped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a map of pairs; the key -0.0 becomes 0.0.

    Raises:
        EvaluationError: a key is null, or occurs twice.
    """
    result: dict[Any, Any] = {}
    for key, value in pairs:
        if key is None:
            message = "a key of a map is null"
            raise EvaluationError(message)
        if key in result:
            message = f"a map has the key {key!r} twice"
            raise EvaluationError(message)
        result[key + 0.0 if isinstance(key, float) else key] = value
    return result


CONTAINERS.function(
    summary="Make a map of alternating keys and values.",
    examples=[("map('a', 1, 'b', 2)", "{a -> 1, b -> 2}")],
    resolver=_map_types,
    name="map",
    strict=False,
    fails=True,
)(lambda *values: mapped(zip(values[::2], values[1::2], strict=True)))


def _struct_types(operands: Sequence[Operand]) -> Resolved | None:
    kinds = tuple(each.type for each in operands)
    names = tuple(each.name or f"col{place + 1}" for place, each in enumerate(operands))
    return Resolved(kinds, struct_of(names, kinds)) if kinds and len(set(names)) == len(names) else None


CONTAINERS.function(
    summary="Make a struct; fields are named after the attributes, or col1, col2 and so on.",
    examples=[("struct(1, 'x').col2", "x")],
    resolver=_struct_types,
    name="struct",
    strict=False,
)(lambda *values: values)


def _named_types(operands: Sequence[Operand]) -> Resolved | None:
    names = [each.constant[0] for each in operands[::2] if each.constant is not None]
    kinds = tuple(each.type for each in operands)
    texts = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    if not operands or len(operands) % 2 or len(names) != len(operands) // 2 or not texts:
        return None
    return Resolved(kinds, struct_of(tuple(map(str, names)), kinds[1::2]))


CONTAINERS.function(
    summary="Make a struct of alternating constant names and values.",
    examples=[("named_struct('a', 1, 'b', 'x')", "{1, x}")],
    resolver=_named_types,
    name="named_struct",
    strict=False,
)(lambda *values: values[1::2])


def _indexed(operands: Sequence[Operand]) -> Resolved | None:
    if len(operands) != 2:
        return None
    container, index = (each.type for each in operands)
    if container.name == "array" and (index.is_integral or index == VOID):
        return Resolved((container, INT), container.parts[0])
    if container.name == "map":
        key = common(container.parts[0], index)
        return Resolved((container, container.parts[0]), container.parts[1]) if key == container.parts[0] else None
    return None


def _outside(index: int, length: int) -> EvaluationError:
    return EvaluationError(f"the array of {length} elements has none at {index}")


def _of_map(container: dict[Any, Any], key: Any) -> Any:
    return container.get(key)


def _item(binding: Binding) -> TupleFunction:
    if binding.arguments[0].name == "map":
        return _of_map

    def row(values: Sequence[Any], index: int) -> Any:
        if not 0 <= index < len(values):
            raise _outside(index, len(values))
        return values[index]

    return row


CONTAINERS.bound(
    summary=(
        "Return an element of an array, counted from 0, or the value of a map's key (null if the map lacks the key)."
    ),
    examples=[("array(1, 2)[0]", "1"), ("map('a', 1)['b']", "NULL")],
    resolver=_indexed,
    name="[]",
    fails=True,
)(_item)


def _element_at(binding: Binding) -> TupleFunction:
    if binding.arguments[0].name == "map":
        return _of_map

    def row(values: Sequence[Any], index: int) -> Any:
        if index == 0 or abs(index) > len(values):
            raise _outside(index, len(values))
        return values[index - 1 if index > 0 else index]

    return row


CONTAINERS.bound(
    summary="Return an element of an array, counted from 1 (or from the end if negative), or the value of a map's key.",
    examples=[("element_at(array(1, 2), -1)", "2")],
    resolver=_indexed,
    name="element_at",
    fails=True,
)(_element_at)
CONTAINERS.bound(
    summary="Return the same as element_at, or null where there is no element.",
    examples=[("try_element_at(array(1, 2), 5)", "NULL")],
    resolver=_indexed,
    name="try_element_at",
    lenient=True,
)(_element_at)
CONTAINERS.function(
    "get(values array<T>, index int) -> T",
    summary="Return an element of an array, counted from 0; null if the index is out of range.",
    examples=[("get(array(1, 2), 5)", "NULL")],
)(lambda values, index: values[index] if 0 <= index < len(values) else None)
CONTAINERS.function(
    "size(values array<T>) -> int",
    "size(values map<K, V>) -> int",
    aliases=["cardinality"],
    summary="Count the elements of an array or the keys of a map.",
    examples=[("size(array(1, 2))", "2")],
)(len)
CONTAINERS.function(
    "array_size(values array<T>) -> int",
    summary="Count the elements of an array.",
    examples=[("array_size(array(1, 2))", "2")],
)(len)


CONTAINERS.function(
    "map_keys(values map<K, V>) -> array<K>",
    summary="Return the keys of a map as an array.",
    examples=[("map_keys(map('a', 1))", "[a]")],
)(tuple)
CONTAINERS.function(
    "map_values(values map<K, V>) -> array<V>",
    summary="Return the values of a map as an array.",
    examples=[("map_values(map('a', 1))", "[1]")],
)(lambda values: tuple(values.values()))


def _entries(operands: Sequence[Operand]) -> Resolved | None:
    if len(operands) != 1 or operands[0].type.name != "map":
        return None
    return Resolved((operands[0].type,), array_of(struct_of(("key", "value"), operands[0].type.parts)))


CONTAINERS.function(
    summary="Return the entries of a map as an array of structs of key and value.",
    examples=[("map_entries(map('a', 1))", "[{a, 1}]")],
    resolver=_entries,
    name="map_entries",
)(lambda values: tuple(values.items()))


def _key_types(operands: Sequence[Operand]) -> Resolved | None:
    """Resolve a function of a map and a key. Numeric keys are converted to the wider type; texts match texts only.

    None if the operands do not fit.
    """
    if len(operands) != 2 or operands[0].type.name != "map" or operands[1].type == VOID:
        return None
    key, value = operands[0].type.parts
    together = common(key, operands[1].type, texts=False)
    return None if together is None else Resolved((map_of(together, value), together), BOOLEAN)


CONTAINERS.function(
    summary="Return true if the map has the key.",
    examples=[("map_contains_key(map('a', 1), 'a')", "true")],
    resolver=_key_types,
    name="map_contains_key",
)(lambda values, key: key in values)


@CONTAINERS.function(
    "map_from_arrays(keys array<K>, values array<V>) -> map<K, V>",
    summary="Make a map of an array of keys and an array of as many values.",
    examples=[("map_from_arrays(array('a'), array(1))", "{a -> 1}")],
    fails=True,
)
def _map_from_arrays(keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    if len(keys) != len(values):
        message = f"there are {len(keys)} keys and {len(values)} values"
        raise EvaluationError(message)
    return mapped(zip(keys, values, strict=True))


CONTAINERS.function(
    "map_concat(first map<K, V>, more map<K, V>...) -> map<K, V>",
    summary="Merge maps; a key must not be in two of them.",
    examples=[("map_concat(map('a', 1), map('b', 2))", "{a -> 1, b -> 2}")],
    fails=True,
)(lambda *maps: mapped(pair for each in maps for pair in each.items()))


@CONTAINERS.function(
    "str_to_map(value string, [pairs string], [values string]) -> map<string, string>",
    summary=(
        "Make a map of a text by splitting it at two regular expressions: between pairs (default `,`), "
        "and between key and value (`:`)."
    ),
    examples=[("str_to_map('a:1,b:2')", "{a -> 1, b -> 2}")],
    exact=True,
    fails=True,
)
def _str_to_map(value: str, pairs: str = ",", values: str = ":") -> dict[str, str | None]:
    parts = [split(part, values, 2) if values else (part[:1], part[1:]) for part in split(value, pairs)]
    return mapped((part[0], part[1] if len(part) > 1 else None) for part in parts)
