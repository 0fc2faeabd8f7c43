"""`spl.collection`: functions of sets and maps, which are dictionaries with the keys of their elements."""

from __future__ import annotations

# pyright: standard
from collections.abc import Callable
from typing import Any, cast

from streams_orchestration.spl.programs.library.collection_types import (
    LIST,
    MAP,
    SET,
    bounded,
    element_of,
    kinds,
    on_copy,
    scalars,
)
from streams_orchestration.spl.programs.library.registry import typed
from streams_orchestration.spl.programs.values import freezing, member, refreezing, same
from streams_orchestration.spl.types.types import Collection, Type


@typed("has")
def _has(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    is_member = member(types[0])
    return lambda values, wanted: is_member(wanted, values)


@typed("insertM", when=SET)
def _insert_set(types: tuple[Type, ...], _: Type) -> Callable[..., None]:
    freeze = freezing(element_of(types[0]))
    if isinstance(types[1], Collection) and types[1] != element_of(types[0]):
        change = _set_many(freeze if types[1].kind == "list" else refreezing(element_of(types[0])))
    else:

        def change(values: dict[Any, None], new: Any) -> None:
            values[freeze(new)] = None

    return bounded(types[0], change)


@typed("concatM", when=SET)
def _concat_set(types: tuple[Type, ...], _: Type) -> Callable[..., None]:
    return bounded(types[0], _set_many(refreezing(element_of(types[0]))))


def _set_many(key: Callable[[Any], Any]) -> Callable[..., None]:
    def change(values: dict[Any, None], new: Any) -> None:
        values.update(dict.fromkeys(list(map(key, new))))

    return change


@typed("insert", when=kinds("set", "map"))
def _insert_copy(types: tuple[Type, ...], result: Type) -> Callable[..., Any]:
    insert = _insert_set if cast("Collection", types[0]).kind == "set" else _insert_map
    return on_copy(insert(types, result))


@typed("insertM", when=MAP)
def _insert_map(types: tuple[Type, ...], _: Type) -> Callable[..., None]:
    freeze = freezing(element_of(types[0]))

    def change(values: dict[Any, Any], key: Any, value: Any) -> None:
        values[freeze(key)] = value

    return bounded(types[0], change)


@typed("removeM", when=kinds("set", "map"))
def _remove_key(types: tuple[Type, ...], _: Type) -> Callable[..., None]:
    freeze = freezing(element_of(types[0]))

    def remove(values: dict[Any, Any], key: Any) -> None:
        values.pop(freeze(key), None)

    return remove


@typed("remove", when=kinds("set", "map"))
def _removed_key(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    freeze = freezing(element_of(types[0]))

    def removed(values: dict[Any, Any], key: Any) -> dict[Any, Any]:
        gone = freeze(key)
        return {each: value for each, value in values.items() if each != gone}

    return removed


@typed("keys", when=MAP)
def _keys(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    key = element_of(types[0])
    return lambda values: scalars(values, key)


@typed("toSet", when=LIST)
def _to_set(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    freeze = freezing(element_of(types[0]))
    return lambda values: dict.fromkeys(map(freeze, values))


@typed("setUnion")
def _set_union(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    again = refreezing(element_of(types[0]))
    if again is same:
        return lambda one, other: {**one, **other}
    return lambda one, other: {**one, **dict.fromkeys(map(again, other))}


@typed("setIntersection")
def _set_intersection(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    again = refreezing(element_of(types[0]))
    return lambda one, other: {key: None for key in one if again(key) in other}


@typed("setDifference")
def _set_difference(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    again = refreezing(element_of(types[0]))
    return lambda one, other: {key: None for key in one if again(key) not in other}
