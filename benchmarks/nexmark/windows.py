"""Functions of the queries about windows: windows that overlap, and the largest tuples of a window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.context import Punctuation
from streams_orchestration.operators.libraries import compute as pc

PANES = 5
"""Of a window, which is called after its first one."""


def windows_of(batch: TupleBatch) -> dict[str, np.ndarray]:
    """For each pane of an auction a tuple for every window that it is in, and for the one that it closes."""
    steps = np.tile(np.arange(PANES, -1, -1), len(batch))
    columns = {name: np.repeat(batch.column(name), PANES + 1) for name in ("auction", "pane", "n")}
    return {
        "auction": columns["auction"], "n": columns["n"], "window": columns["pane"] - steps,
        "closing": (steps == PANES).astype(np.int64),
    }  # fmt: skip


def hold(batch: TupleBatch, state: dict[str, Any]) -> None:
    """Keep the tuples of a window until its marker comes."""
    tuples = pa.Table.from_batches([batch.arrow])
    state["tuples"] = pa.concat_tables([state["tuples"], tuples]) if "tuples" in state else tuples


def largest(
    mark: Punctuation, state: dict[str, Any], arguments: Mapping[str, Any]
) -> Iterator[TupleBatch | Punctuation]:
    """The tuples of the window whose attribute, `arguments["of"]`, is the largest."""
    if mark is Punctuation.WINDOW and "tuples" in state:
        tuples = state.pop("tuples").combine_chunks()
        values = tuples.column(arguments["of"])
        yield from map(TupleBatch, tuples.filter(pc.equal(values, pc.max(values))).to_batches())
