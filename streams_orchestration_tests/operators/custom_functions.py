"""Functions for tests of Custom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams_orchestration.operators import Punctuation, TupleBatch, operator


def numbered(batch: TupleBatch, state: dict[str, Any]) -> dict[str, Any]:
    """Every tuple with its number so far."""
    first = state.get("count", 0)
    state["count"] = first + len(batch)
    return {"k": batch.arrow["k"], "n": list(range(first, first + len(batch)))}


def forget(batch: TupleBatch, state: dict[str, Any]) -> TupleBatch | None:
    """Passes on what comes before it has emptied its state."""
    result = batch if state else None
    state.clear()
    return result


def by_sign(batch: TupleBatch, port: int, arguments: dict[str, Any]) -> Iterator[Any]:
    """Positive numbers to output port 0, others to port 1, and a marker for a certain input port."""
    numbers = batch.column("n")
    yield batch.filter(numbers > 0)
    yield 1, batch.filter(numbers <= 0)
    if port == arguments["marked"]:
        yield 1, Punctuation.WINDOW


def total(mark: Punctuation, state: dict[str, Any]) -> dict[str, Any]:
    """A tuple for every mark."""
    return {"k": [mark.value], "n": [state["count"]]}


def double(batch: TupleBatch) -> TupleBatch:
    batch.writable("n")[:] *= 2
    return batch


def wanting(batch: TupleBatch, everything: Any) -> None:
    pass


@operator
def itself(batch: TupleBatch) -> None:
    pass


SOMETHING = 1


def each(values: dict[str, Any], port: int, state: dict[str, Any], arguments: dict[str, Any]) -> Iterator[Any]:
    """Every tuple twice, the second time to output port 1 with its number, a marker behind a certain key."""
    yield values
    state["count"] = state.get("count", 0) + 1
    yield 1, {"k": values["k"], "n": state["count"]}
    if values["k"] == arguments.get("marked"):
        yield Punctuation.WINDOW


def given(values: dict[str, Any], arguments: dict[str, Any]) -> Any:
    """What the parameters say for a key, else the tuple."""
    return arguments.get(values["k"], values)
