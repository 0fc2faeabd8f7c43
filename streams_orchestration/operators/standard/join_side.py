"""One of the two windows of a Join."""

from __future__ import annotations

from typing import Any

from streams_orchestration.operators.keys import factorize
from streams_orchestration.operators.libraries import compute as pc
from streams_orchestration.operators.libraries import np, pa
from streams_orchestration.operators.windows import Policy


class JoinSide:
    """The tuples that are in the window of one stream, and which of them have met another."""

    def __init__(self, schema: pa.Schema, policy: Policy, keys: list[str], outer: bool) -> None:
        self.schema = schema
        self.policy = policy
        self.keys = keys
        self.outer = outer
        self.clear()

    def clear(self) -> None:
        """No tuples."""
        self.tuples: pa.RecordBatch = pa.RecordBatch.from_pylist([], schema=self.schema)
        self.matched = np.zeros(0, bool)
        self.ended = False

    def key_columns(self, tuples: pa.RecordBatch) -> list[pa.Array]:
        """What makes tuples equal."""
        return [tuples.column(name) for name in self.keys]

    def insert(self, batch: pa.RecordBatch, matched: np.ndarray) -> tuple[pa.RecordBatch, np.ndarray, np.ndarray]:
        """Let tuples enter, one after another, and others leave.

        Returns:
            The tuples before and these; of those that left and are to be told of, the row of the batch that drove them
            out, and their own row among all.
        """
        tuples, base = pa.concat_batches([self.tuples, batch]), len(self.matched)
        self.matched = np.concatenate([self.matched, matched])
        driven: list[int] = []
        if self.policy.kind == "count":
            first = base + 1 - int(self.policy.size)
            for row in range(batch.num_rows):
                driven += [row] * max(first + row - len(driven), 0)
        else:
            values = self.policy.values(tuples)
            for row in range(batch.num_rows):
                while len(driven) < base + row and values[base + row] - values[len(driven)] > self.policy.size:
                    driven.append(row)
        low = len(driven)
        alone = np.flatnonzero(~self.matched[:low]) if self.outer else np.zeros(0, np.int64)
        self.tuples, self.matched = tuples.slice(low), self.matched[low:]
        return tuples, np.array(driven, np.int64)[alone], alone

    def dump(self, prefix: str) -> dict[str, Any]:
        """The window, for a checkpoint."""
        tuples, matched = pa.Table.from_batches([self.tuples]), pa.table({"matched": self.matched})
        return {f"{prefix}.tuples": tuples, f"{prefix}.matched": matched, f"{prefix}.ended": self.ended}

    def load(self, state: Any, prefix: str) -> None:
        """Take over what `dump` gave."""
        self.clear()
        batches = state[f"{prefix}.tuples"].combine_chunks().to_batches()
        self.tuples = batches[0] if batches else self.tuples
        self.matched = state[f"{prefix}.matched"].column(0).to_numpy().copy()
        self.ended = state[f"{prefix}.ended"]


def equal_pairs(
    here: list[pa.Array], there: list[pa.Array], rows_here: int, rows_there: int
) -> tuple[np.ndarray, np.ndarray]:
    """The rows of two sides with equal keys, ordered by both; all pairs if there are no keys."""
    if not here:
        return np.repeat(np.arange(rows_here), rows_there), np.tile(np.arange(rows_there), rows_here)
    columns = [pa.concat_arrays([a, b]) for a, b in zip(here, there, strict=True)]
    codes = factorize(columns, rows_here + rows_there)[1]
    known = np.ones(len(codes), bool)
    for column in columns:
        known &= pc.is_valid(column).to_numpy(zero_copy_only=False)
    candidates = np.flatnonzero(known[rows_here:])
    order = candidates[np.argsort(codes[rows_here:][candidates], kind="stable")]
    ranked = codes[rows_here:][order]
    first, last = (np.searchsorted(ranked, codes[:rows_here], side) for side in ("left", "right"))
    counts = np.where(known[:rows_here], last - first, 0)
    starts = np.repeat(first - np.r_[0, np.cumsum(counts)[:-1]], counts) if rows_here else counts
    return np.repeat(np.arange(rows_here), counts), order[starts + np.arange(len(starts))]
