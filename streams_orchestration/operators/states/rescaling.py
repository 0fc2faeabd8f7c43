"""State among replicas: which parts are divided by keys when the number of channels changes, and how.

A *route* says which replica the tuples of a key go to. A state can be divided if its keys hold the attributes that the
route uses. All that is kept for a key is then in one replica before and in one after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from streams_orchestration.expressions.naming import names_of
from streams_orchestration.operators.arrow_types import type_name
from streams_orchestration.operators.expressions import frame
from streams_orchestration.operators.libraries import np, pa
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.state import State

StateKeys = Mapping[str, str | tuple[str, ...]]
"""Part of a state -> the attributes that its keys are made of, in order."""


class RescaleError(ValueError):
    """States cannot be divided; the message goes on after `state of X`."""


class Route(Protocol):
    """The channels to which tuples of an input port go."""

    width: int
    """The number of replicas."""

    def attributes(self, port: int = 0) -> tuple[str, ...] | None:
        """Return the attributes that choose the channel; None where tuples do not choose it, as in a round robin."""
        ...

    def channels(self, tuples: pa.RecordBatch, port: int = 0) -> np.ndarray:
        """Return the replica of every tuple, from 0 on; there must be all `attributes`."""
        ...


class Sharding(NamedTuple):
    """The way in which the state of an operator can be divided, as known before there is a state."""

    keys: tuple[tuple[str, ...], ...] = ()
    """Attributes per input port, any of which may decide where a tuple goes; the last entry repeats."""
    anyhow: bool = False
    """True if the state can be divided whatever chooses the channel of tuples."""
    refusal: str = ""
    """Why it cannot be divided; continues the text `state of X`."""

    def holds(self, port: int, attributes: Sequence[str]) -> bool:
        """Return True if the keys contain all attributes that choose the channel at an input port."""
        known = self.keys[min(port, len(self.keys) - 1)] if self.keys else ()
        return set(attributes) <= set(known)


class PortKeys(NamedTuple):
    """Values of attributes that lie in a state since tuples with them came to an input port."""

    port: int
    values: pa.RecordBatch


NO_KEYS = "has no keys and no rescale"


def declared_sharding(state_keys: StateKeys) -> Sharding:
    """Return how state with declared keys can be divided."""
    if not state_keys:
        return Sharding(refusal=NO_KEYS)
    first, *others = (_names(names) for names in state_keys.values())
    return Sharding(keys=(tuple(name for name in first if all(name in other for other in others)),))


def declared_keys(state_keys: StateKeys, state: State, schema: pa.Schema | None) -> Iterator[pa.RecordBatch]:
    """Yield the keys of all parts of a state, each as a batch with the attributes that were declared.

    Args:
        state_keys: the declared keys.
        state: the state of one replica.
        schema: the schema of the tuples, which says the types of keys in dictionaries.

    Raises:
        RescaleError: a part has no declared keys, or others.
    """
    for name, part in state.items():
        yield _keys(name, part, state_keys, schema)


def divide_declared(
    state_keys: StateKeys, states: Sequence[State], route: Route, schema: pa.Schema | None
) -> list[State]:
    """Divide states by their declared keys among other replicas; raises as `declared_keys`."""
    divided: list[dict[str, Any]] = [{} for _ in range(route.width)]
    names = dict.fromkeys(name for state in states for name in state)
    for name in names:
        parts = [state[name] for state in states if name in state]
        channels = [route.channels(_keys(name, part, state_keys, schema)) for part in parts]
        divide = divide_dictionaries if isinstance(parts[0], DictState) else divide_keyed
        for state, part in zip(divided, divide(parts, channels, route.width), strict=True):
            state[name] = part
    return list(divided)


def divide_keyed(parts: Sequence[KeyedState], channels: Sequence[np.ndarray], width: int) -> list[KeyedState]:
    """Divide keys with their values among the given replicas, in order of the parts.

    Args:
        parts: the parts of the replicas so far, of one type.
        channels: for each of them the replica of every key, in order.
        width: the number of replicas.

    Raises:
        RescaleError: two replicas so far have the same key.
    """
    tables = [part.table() for part in parts]
    return [keyed(parts[0], [_chosen(table, own, to) for table, own in zip(tables, channels, strict=True)])
            for to in range(width)]  # fmt: skip


def keyed(like: KeyedState, tables: Sequence[pa.Table]) -> KeyedState:
    """Return a state of the same type with the keys and values of some tables; raises as `divide_keyed`."""
    whole = pa.concat_tables(tables).combine_chunks()
    keys = whole.select(like.keys_schema.names)
    if sum(bool(table.num_rows) for table in tables) > 1 and _repeats(keys):
        message = "has one key in two channels, so that no one of them has all about it"
        raise RescaleError(message)
    return KeyedState.load({"keys": keys, "values": whole.select(like.values_schema.names)})


def _repeats(keys: pa.Table) -> bool:
    """Return True if a key occurs twice. Comparing hashes is faster and mostly rules that out."""
    hashes = np.sort(frame(keys).hash_rows().to_numpy())
    return bool((hashes[1:] == hashes[:-1]).any()) and frame(keys).n_unique() < keys.num_rows


def divide_dictionaries(parts: Sequence[DictState], channels: Sequence[np.ndarray], width: int) -> list[DictState]:
    """Divide the dictionaries of replicas among the new channels, as `divide_keyed` does."""
    divided: list[dict[Any, Any]] = [{} for _ in range(width)]
    for part, own in zip(parts, channels, strict=True):
        for (key, value), channel in zip(part.items(), own.tolist(), strict=True):
            if key in divided[channel]:
                message = "has one key in two channels, so that no one of them has all about it"
                raise RescaleError(message)
            divided[channel][key] = value
    return [DictState(values) for values in divided]


class AnyCase(frozenset[str]):
    """Names of attributes, which may be written in another case."""

    def __contains__(self, name: object) -> bool:
        """Return True if one of the names differs at most in case."""
        return isinstance(name, str) and super().__contains__(name.lower())


def names_in(*expressions: str) -> AnyCase:
    """Return the names of the attributes that expressions use.

    Raises:
        ExpressionError: a text is no expression.
    """
    return AnyCase(name.lower() for text in expressions for name in names_of(text))


def renamed(keys: pa.Table | pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """Return key columns under the names of their attributes."""
    return pa.RecordBatch.from_arrays([_whole(column) for column in keys.columns], names=list(names))


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return one array; a single chunk is not copied."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _chosen(table: pa.Table, channels: np.ndarray, channel: int) -> pa.Table:
    return table.filter(pa.array(channels == channel))


def _names(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


def _keys(name: str, part: Any, state_keys: StateKeys, schema: pa.Schema | None) -> pa.RecordBatch:
    if name not in state_keys or not isinstance(part, KeyedState | DictState):
        message = f"has no keys in its part {name}" if state_keys else NO_KEYS
        raise RescaleError(message)
    names = _names(state_keys[name])
    if isinstance(part, KeyedState):
        if len(names) != len(part.keys_schema):
            message = f"has keys of {len(part.keys_schema)} values in its part {name}, not {len(names)}"
            raise RescaleError(message)
        return renamed(part.keys_table(), names)
    rows = [key if isinstance(key, tuple) else (key,) for key in part]
    if any(len(row) != len(names) for row in rows):
        message = f"has keys of another number of values than {len(names)} in its part {name}"
        raise RescaleError(message)
    return pa.RecordBatch.from_arrays(
        [_typed(name, [row[i] for row in rows], names[i], schema) for i in range(len(names))], names=list(names)
    )


def _typed(part: str, values: list[Any], attribute: str, schema: pa.Schema | None) -> pa.Array:
    kind = schema.field(attribute).type if schema is not None and attribute in schema.names else None
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        message = f"has keys in its part {part} that are no values of {attribute}, which is {kind and type_name(kind)}"
        raise RescaleError(message) from error
