"""Functions of the queries about windows: those that overlap, sessions, and the largest tuples of a window.

Tuples come in the order of their times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from streams_orchestration.operators.contract.context import Punctuation
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.tuples.batch import TupleBatch

PANES = 5
"""The panes of a window, which has the number of its first pane."""
GAP = 10_000_000
"""Microseconds without a bid that end a session."""
KEPT = "tuples"
"""The name of a table in the state."""


def windows_of(batch: TupleBatch) -> dict[str, np.ndarray]:
    """Return a tuple for each pane of an auction and each window with that pane, and for the window that it closes."""
    steps = np.tile(np.arange(PANES, -1, -1), len(batch))
    columns = {name: np.repeat(batch.column(name), PANES + 1) for name in ("auction", "pane", "n")}
    return {
        "auction": columns["auction"], "n": columns["n"], "window": columns["pane"] - steps,
        "closing": (steps == PANES).astype(np.int64),
    }  # fmt: skip


def largest(batch: TupleBatch, state: dict[str, Any], arguments: Mapping[str, Any]) -> Iterator[TupleBatch]:
    """Yield the tuples of a window whose attribute `arguments["of"]` is the largest, once a later window has begun.

    The attribute `arguments["window"]` is the window. Windows come one after another.
    """
    if not len(batch):
        return
    tuples = _with_kept(batch, state)
    windows = tuples.column(arguments["window"]).combine_chunks().to_numpy()
    values = tuples.column(arguments["of"]).combine_chunks().to_numpy()
    starts = np.flatnonzero(np.r_[True, windows[1:] != windows[:-1]])
    most = np.repeat(np.maximum.reduceat(values, starts), np.diff(np.r_[starts, len(windows)]))
    hot = np.flatnonzero(values == most)
    open_from = np.searchsorted(hot, starts[-1])
    state[KEPT] = tuples.take(pa.array(hot[open_from:]))
    yield from map(TupleBatch, tuples.take(pa.array(hot[:open_from])).combine_chunks().to_batches())


def rest_of_largest(mark: Punctuation, state: dict[str, Any]) -> Iterator[TupleBatch]:
    """Yield the largest tuples of the last window at the end of the stream."""
    if mark is Punctuation.FINAL and KEPT in state:
        yield from map(TupleBatch, state.pop(KEPT).combine_chunks().to_batches())


def sessions(batch: TupleBatch, state: dict[str, Any]) -> Iterator[TupleBatch]:
    """Yield the bids of a bidder without a gap among them, once time has passed for longer than the gap."""
    bidders, moments = batch.column("bidder"), batch.arrow.column("moment").cast(pa.int64()).to_numpy()
    now = moments.max()
    bids = np.ones(len(bidders), np.int64)
    if KEPT in state:
        kept = state[KEPT]
        before = {name: kept.column(name).combine_chunks().to_numpy() for name in kept.column_names}
        bidders, bids = np.r_[before["bidder"], bidders], np.r_[before["n"], bids]
        firsts, lasts = np.r_[before["first"], moments], np.r_[before["last"], moments]
    else:
        firsts = lasts = moments
    order = np.argsort(bidders, kind="stable")
    bidders, firsts, lasts, bids = bidders[order], firsts[order], lasts[order], bids[order]
    begins = np.r_[True, (bidders[1:] != bidders[:-1]) | (firsts[1:] - lasts[:-1] > GAP)]
    starts = np.flatnonzero(begins)
    ends = np.r_[starts[1:], len(bidders)] - 1
    sessions = pa.table(
        {"bidder": bidders[starts], "n": np.add.reduceat(bids, starts), "first": firsts[starts], "last": lasts[ends]}
    )
    over = pc.less(sessions.column("last"), int(now - GAP))
    state[KEPT] = sessions.filter(pc.invert(over))
    yield from _closed(sessions.filter(over))


def rest_of_sessions(mark: Punctuation, state: dict[str, Any]) -> Iterator[TupleBatch]:
    """Yield the sessions that are still open at the end of the stream."""
    if mark is Punctuation.FINAL and KEPT in state:
        yield from _closed(state.pop(KEPT))


def _closed(sessions: pa.Table) -> Iterator[TupleBatch]:
    kind = pa.timestamp("us", "UTC")
    for name in ("first", "last"):
        sessions = sessions.set_column(sessions.column_names.index(name), name, sessions.column(name).cast(kind))
    yield from map(TupleBatch, sessions.combine_chunks().to_batches())


def _with_kept(batch: TupleBatch, state: dict[str, Any]) -> pa.Table:
    tuples = pa.Table.from_batches([batch.arrow])
    return pa.concat_tables([state[KEPT], tuples]) if KEPT in state else tuples
