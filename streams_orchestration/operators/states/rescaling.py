"""Divides state among replicas by keys when the number of channels changes.

A *route* determines which replica receives the tuples of a key. A state can be divided if its keys contain the
attributes that the route uses: then everything about a key is in one replica before and after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from streams_orchestration.expressions.naming import names_of
from streams_orchestration.operators.expressions.evaluation import frame
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.key_index import comparable_keys
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.timers import Timers
from streams_orchestration.operators.tuples.arrow_types import type_name

StateKeys = Mapping[str, str | tuple[str, ...]]
"""Maps each part of the state to the attributes of its keys, in order."""
_SAME_KEY = "has the same key in two channels, so neither of them has the whole state of the key"


class RescaleError(ValueError):
    """States cannot be divided. The message continues the text `state of X`."""


class Route(Protocol):
    """The channels that receive the tuples of an input port."""

    width: int
    """The number of replicas."""

    def attributes(self, port: int = 0) -> tuple[str, ...] | None:
        """Return the attributes that determine the channel; None if tuples do not determine it, as in a round robin."""
        ...

    def channels(self, tuples: pa.RecordBatch, port: int = 0) -> np.ndarray:
        """Return the channel of every tuple. `tuples` must have all `attributes`.

        Raises ValueError if the attributes do not determine the channel.
        """
        ...


class Sharding(NamedTuple):
    """The ways in which the state of an operator can be divided, as known before there is a state."""

    keys: tuple[tuple[str, ...], ...] = ()
    """For each input port, the attributes that may determine the channel. The last entry also holds for
    further ports.
    """
    anyhow: bool = False
    """True if the state can be divided whatever determines the channel of tuples."""
    refusal: str = ""
    """The reason why the state cannot be divided; continues the text `state of X`."""

    def holds(self, port: int, attributes: Sequence[str]) -> bool:
        """Return True if the keys contain all attributes that determine the channel at an input port."""
        known = self.keys[min(port, len(self.keys) - 1)] if self.keys else ()
        return set(attributes) <= set(known)


class PortKeys(NamedTuple):
    """Key values in a state that stem from tuples of one input port."""

    port: int
    values: pa.RecordBatch


NO_KEYS = "has no keys and no rescale"


def declared_sharding(state_keys: StateKeys) -> Sharding:
    """Return how a state can be divided: by the attributes that the declared keys of all its parts have.

    Without declared keys, return a refusal.
    """
    if not state_keys:
        return Sharding(refusal=NO_KEYS)
    first, *others = (_names(names) for names in state_keys.values())
    return Sharding(keys=(tuple(name for name in first if all(name in other for other in others)),))


def declared_keys(state_keys: StateKeys, state: State, schema: pa.Schema | None) -> Iterator[pa.RecordBatch]:
    """Yield the keys of each part of a state, as a batch with the declared attributes.

    Args:
        state_keys: the declared keys.
        state: the state of one replica.
        schema: the schema of the tuples, which gives the types of keys in dictionaries.

    Raises:
        RescaleError: a part of the state has no declared keys, or its keys differ from the declared ones.
    """
    for name, part in state.items():
        yield _keys(name, part, state_keys, schema)


def divide_declared(
    state_keys: StateKeys, states: Sequence[State], route: Route, schema: pa.Schema | None
) -> list[State]:
    """Divide states among new replicas by their declared keys.

    Raises RescaleError if a part has no declared keys or other keys, or two old replicas have the same key.
    """
    divided: list[dict[str, Any]] = [{} for _ in range(route.width)]
    names = dict.fromkeys(name for state in states for name in state)
    for name in names:
        parts = [state[name] for state in states if name in state]
        channels = [route.channels(_keys(name, part, state_keys, schema)) for part in parts]
        for state, part in zip(divided, _divided(parts, channels, route.width), strict=True):
            state[name] = part
    return list(divided)


def _divided(parts: Sequence[Any], channels: Sequence[np.ndarray], width: int) -> Sequence[Any]:
    """Divide a part of the state with declared keys; see `divide_keyed`."""
    if isinstance(parts[0], DictState):
        return divide_dictionaries(parts, channels, width)
    if isinstance(parts[0], Timers):
        return [Timers.of(each) for each in divide_keyed([part.entries for part in parts], channels, width)]
    return divide_keyed(parts, channels, width)


def divide_keyed(parts: Sequence[KeyedState], channels: Sequence[np.ndarray], width: int) -> list[KeyedState]:
    """Divide keyed states among new replicas, in the order of the parts.

    Args:
        parts: the parts of the old replicas, all of one type.
        channels: for each part, the new replica of every key, in order.
        width: the number of new replicas.

    Raises:
        RescaleError: two old replicas have the same key.
    """
    tables = [part.table() for part in parts]
    return [
        keyed(parts[0], [table.filter(pa.array(own == to)) for table, own in zip(tables, channels, strict=True)])
        for to in range(width)
    ]


def keyed(like: KeyedState, tables: Sequence[pa.Table]) -> KeyedState:
    """Return a keyed state of the same type with the keys and values of several tables.

    Raises RescaleError if two tables have the same key.
    """
    whole = pa.concat_tables(tables).combine_chunks()
    keys = whole.select(like.keys_schema.names)
    if sum(bool(table.num_rows) for table in tables) > 1 and _repeats(keys):
        raise RescaleError(_SAME_KEY)
    return KeyedState.load({"keys": keys, "values": whole.select(like.values_schema.names)})


def _repeats(keys: pa.Table) -> bool:
    """Return True if a key occurs twice. Keys are compared only if two hashes are equal."""
    rows = frame(comparable_keys(keys.combine_chunks().to_batches()[0]))
    hashes = np.sort(rows.hash_rows().to_numpy())
    return bool((hashes[1:] == hashes[:-1]).any()) and rows.n_unique() < keys.num_rows


def divide_dictionaries(parts: Sequence[DictState], channels: Sequence[np.ndarray], width: int) -> list[DictState]:
    """Divide the dictionaries of old replicas among new ones, as `divide_keyed` does.

    Raises:
        RescaleError: two old replicas have a state for the same key.
    """
    divided: list[dict[Any, Any]] = [{} for _ in range(width)]
    for part, own in zip(parts, channels, strict=True):
        for (key, value), channel in zip(part.items(), own.tolist(), strict=True):
            if key in divided[channel]:
                raise RescaleError(_SAME_KEY)
            divided[channel][key] = value
    return [DictState(values) for values in divided]


class AnyCase(frozenset[str]):
    """Names of attributes in lower case, whose membership test ignores case."""

    def __contains__(self, name: object) -> bool:
        """Return True if the name is contained, whatever its case."""
        return isinstance(name, str) and super().__contains__(name.lower())


def names_in(*expressions: str) -> AnyCase:
    """Return the attributes that expressions use.

    Raises:
        ExpressionError: a text is not an expression.
    """
    return AnyCase(name.lower() for text in expressions for name in names_of(text))


def renamed(keys: pa.Table | pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """Return key columns as one record batch, renamed to their attributes."""
    return pa.RecordBatch.from_arrays([_whole(column) for column in keys.columns], names=list(names))


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a single array. A single chunk is not copied."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _names(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


def _keys(name: str, part: Any, state_keys: StateKeys, schema: pa.Schema | None) -> pa.RecordBatch:
    if isinstance(part, Timers):
        part = part.entries
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
        message = f"has keys in its part {name} that do not have {len(names)} values"
        raise RescaleError(message)
    return pa.RecordBatch.from_arrays(
        [_typed(name, [row[i] for row in rows], names[i], schema) for i in range(len(names))], names=list(names)
    )


def _typed(part: str, values: list[Any], attribute: str, schema: pa.Schema | None) -> pa.Array:
    kind = schema.field(attribute).type if schema is not None and attribute in schema.names else None
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        message = f"has keys in its part {part} that are not values of {attribute}, which is {kind and type_name(kind)}"
        raise RescaleError(message) from error
