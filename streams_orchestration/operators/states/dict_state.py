"""A dictionary of Python values that tracks its changes, for operators that process tuples one by one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, ClassVar

from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.states.incremental import Incremental, Pieces


class DictState(Incremental, MutableMapping[Any, Any]):
    """A dictionary whose keys are strings, numbers, or tuples of them, and whose values are JSON values.

    All NaN are the same key, and 0.0 equals -0.0. Only assignments (`state[key] = value`) and removals count as
    changes. After changing a list inside the dictionary, assign the list again.
    """

    kind: ClassVar[str] = "dict"

    def __init__(self, values: Mapping[Any, Any] | None = None) -> None:
        super().__init__()
        self._values: dict[Any, Any] = {}
        self._stamps: dict[Any, int] = {}
        """Maps each key written since the last whole store to the clock of its last write, in order of writing."""
        self._removed: dict[Any, int] = {}
        """Maps each removed key to the clock of its last removal."""
        self.update(values or {})

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __contains__(self, key: object) -> bool:
        return _normalised(key) in self._values

    def __getitem__(self, key: Any) -> Any:
        return self._values[_normalised(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        key = _normalised(key)
        self._values[key] = value
        self._stamps[key] = self.clock
        self.touch()

    def __delitem__(self, key: Any) -> None:
        key = _normalised(key)
        del self._values[key]
        self._stamps.pop(key, None)
        self._removed[key] = self.clock
        self.touch()

    def __repr__(self) -> str:
        return f"DictState({self._values!r})"

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, or the default without one."""
        return self._values.get(_normalised(key), default)

    def clear(self) -> None:
        """Remove all keys. The next store is whole."""
        self._values.clear()
        self._forget()
        self.forget_stored()

    def _forget(self) -> None:
        self._stamps.clear()
        self._removed.clear()

    def whole(self) -> Pieces:
        """Return all keys and values, as JSON, and forget earlier changes."""
        self._forget()
        return {"values": _table(self._values)}

    def changes(self, since: int) -> Pieces:
        """Return the keys removed and the keys and values written after a version."""
        written = {key: self._values[key] for key, stamp in self._stamps.items() if stamp > since}
        removed = [key for key, stamp in self._removed.items() if stamp > since]
        return {"values": _table(written), "gone": _table(dict.fromkeys(removed))}

    def rows_to_store(self, since: int) -> tuple[int, int]:
        """Return the number of keys written after a version, and the number of all keys."""
        return sum(stamp > since for stamp in self._stamps.values()), len(self)

    @classmethod
    def load(cls, pieces: Pieces) -> DictState:
        """Return a dictionary from the pieces that `whole` returned."""
        state = cls()
        state._values = _mapping(pieces["values"])
        return state

    def apply(self, pieces: Pieces) -> None:
        """Apply the removals and writes that `changes` returned."""
        for key in _mapping(pieces["gone"]):
            self._values.pop(key, None)
            self._stamps.pop(key, None)
            self._removed[key] = self.clock
        self.update(_mapping(pieces["values"]))


def _table(values: Mapping[Any, Any]) -> pa.Table:
    texts = [[json.dumps(item) for item in items] for items in (values.keys(), values.values())]
    return pa.table({"key": pa.array(texts[0], pa.large_string()), "value": pa.array(texts[1], pa.large_string())})


def _mapping(table: pa.Table) -> dict[Any, Any]:
    keys, values = (map(json.loads, column.to_pylist()) for column in table.columns)
    return {_key(key): value for key, value in zip(keys, values, strict=True)}


def _key(key: Any) -> Any:
    return tuple(map(_key, key)) if isinstance(key, list) else _normalised(key)


def _normalised(key: Any) -> Any:
    """Return the key with 0.0 for -0.0 and a single NaN object, which dictionaries find by identity."""
    if isinstance(key, float):
        return math.nan if math.isnan(key) else key + 0.0
    return tuple(map(_normalised, key)) if isinstance(key, tuple) else key
