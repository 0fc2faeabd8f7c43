"""Nexmark in Bytewax: `python -m benchmarks.peers.nexmark_bytewax FILES EVENTS QUERY...`.

One worker reads the slices of `FILES` up to `EVENTS` events, as tuples with the attributes that a query reads, in
order. Windows are of event time. The last line printed is JSON, query -> events a second, from the first slice on.
"""

# pyright: reportMissingImports=false, reportUntypedFunctionDecorator=false, reportUnknownLambdaType=false
# (only `make bench` installs Bytewax)

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as w
import pyarrow.parquet as pq
from bytewax.dataflow import Dataflow, Stream
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.testing import TestingSink, cluster_main

from benchmarks.nexmark.application import QUERIES

Flow = Callable[[dict[str, Stream]], Stream]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEN_SECONDS, TWO_SECONDS = timedelta(seconds=10), timedelta(seconds=2)
LATE = timedelta(minutes=1)
"""The time for which the clock waits for late events. It also follows the machine's clock, and drops later events."""
NEAR = ("OR", "ID", "CA")
PART = 10
"""Only a part of the events is read: each row takes long, and no start-up has to be left out."""
LOW, HIGH = 10_000, 1_000_000
"""Cents, of the ranks of q15."""


class Slices(StatefulSourcePartition):
    """The slices of one kind, one a batch."""

    def __init__(self, files: list[Path], names: list[str]) -> None:
        self._files, self._names = iter(files), names

    def next_batch(self) -> Iterable[tuple]:
        """Return the rows of the next slice."""
        file = next(self._files, None)
        if file is None:
            raise StopIteration
        table = pq.read_table(file, columns=self._names)
        return zip(*(table[name].to_pylist() for name in self._names), strict=True)

    def snapshot(self) -> None:
        """Return nothing, since nothing is recovered."""


class Kind(FixedPartitionedSource):
    """Events of one kind."""

    def __init__(self, files: list[Path], names: list[str]) -> None:
        self._files, self._names = files, names

    def list_parts(self) -> list[str]:
        """Return the only part."""
        return ["all"]

    def build_part(self, step_id: str, for_part: str, resume_state: Any) -> Slices:
        """Return the slices, from the first one on."""
        return Slices(self._files, self._names)


def clock(place: int) -> w.EventClock:
    """Return a clock of event time, which has this place in a tuple."""

    def moment(row: tuple) -> datetime:
        return row[place].replace(tzinfo=UTC)  # Bytewax takes no other UTC

    return w.EventClock(moment, LATE)


def join_sellers(streams: dict[str, Stream]) -> Stream:
    """Return q3: people nearby, and what they sell in category 10."""
    people = op.filter("near", streams["People"], lambda row: row[3] in NEAR)
    auctions = op.filter("category", streams["Auctions"], lambda row: row[2] == 10)
    keyed = op.merge(
        "both",
        op.map("person", people, lambda row: (str(row[0]), ("person", row[1:]))),
        op.map("auction", auctions, lambda row: (str(row[1]), ("auction", row[0]))),
    )

    def joined(state: Any, item: tuple[str, Any]) -> tuple[Any, list]:
        person, waiting = state or (None, [])
        if item[0] == "auction":
            return (person, [*waiting, item[1]]), [] if person is None else [(*person, item[1])]
        return (item[1], waiting), [(*item[1], auction) for auction in waiting]

    return op.map("rows", op.stateful_flat_map("join", keyed, joined), lambda row: row[1])


def closing(streams: dict[str, Stream]) -> Stream:
    """Return q4: the mean of the last prices of a category."""
    keyed = op.merge(
        "both",
        op.map("auction", streams["Auctions"], lambda row: (str(row[0]), ("auction", row[1:]))),
        op.map("bid", streams["Bids"], lambda row: (str(row[0]), ("bid", row[1:]))),
    )

    def joined(state: Any, item: tuple[str, Any]) -> tuple[Any, list]:
        auction, waiting = state or (None, [])
        if item[0] == "auction":
            return (item[1], []), [(item[1][0], price) for price, at in waiting if item[1][1] <= at <= item[1][2]]
        if auction is None:
            return (None, [*waiting, item[1]]), []
        price, at = item[1]
        return (auction, []), [(auction[0], price)] if auction[1] <= at <= auction[2] else []

    final = op.max_final("final", op.stateful_flat_map("join", keyed, joined), lambda row: row[1])
    prices = op.map("category", final, lambda row: (str(row[1][0]), (row[1][1], 1)))
    totals = op.reduce_final("mean", prices, lambda one, other: (one[0] + other[0], one[1] + other[1]))
    return op.map("average", totals, lambda row: (int(row[0]), row[1][0] / row[1][1]))


def hot_items(streams: dict[str, Stream]) -> Stream:
    """Return q5: the auctions with most bids of ten seconds, every two seconds."""
    windower = w.SlidingWindower(length=TEN_SECONDS, offset=TWO_SECONDS, align_to=EPOCH)
    counts = w.count_window("counts", streams["Bids"], clock(1), windower, lambda row: str(row[0])).down
    of_windows = op.map("window", counts, lambda row: (str(row[1][0]), [(row[1][1], int(row[0]))]))
    most = op.reduce_final(
        "most", of_windows,
        lambda one, more: one if one[0][0] > more[0][0] else more if more[0][0] > one[0][0] else one + more,
    )  # fmt: skip
    return op.flat_map("rows", most, lambda row: [(int(row[0]), auction, n) for n, auction in row[1]])


def highest_bids(streams: dict[str, Stream]) -> Stream:
    """Return q7: the highest bids of ten seconds."""
    windower = w.TumblingWindower(length=TEN_SECONDS, align_to=EPOCH)

    def higher(most: list, bid: tuple) -> list:
        if not most or bid[2] > most[0][2]:
            return [bid]
        return [*most, bid] if bid[2] == most[0][2] else most

    keyed = op.key_on("all", streams["Bids"], lambda row: "all")
    highest = w.fold_window("highest", keyed, clock(3), windower, list, higher, lambda one, more: one + more).down
    return op.flat_map("rows", highest, lambda row: row[1][1])


def new_sellers(streams: dict[str, Stream]) -> Stream:
    """Return q8: people who sell within the ten seconds in which they came."""
    keyed = op.merge(
        "both",
        op.map("person", streams["People"], lambda row: (f"{row[0]} {_window(row[2])}", row[1])),
        op.map("auction", streams["Auctions"], lambda row: (f"{row[0]} {_window(row[1])}", None)),
    )

    def joined(state: Any, name: str | None) -> tuple[Any, list]:
        known, sold, done = state or (None, False, False)
        known, sold = name or known, sold or name is None
        is_sale = known is not None and sold and not done
        return (known, sold, done or is_sale), [known] if is_sale else []

    both = op.stateful_flat_map("join", keyed, joined)
    return op.map("rows", both, lambda row: (int(row[0].split(" ")[0]), row[1], int(row[0].split(" ")[1])))


def noted(moments: list[datetime], row: tuple[datetime]) -> list[datetime]:
    """Add one more moment to a session."""
    moments.append(row[0])
    return moments


def sessions(streams: dict[str, Stream]) -> Stream:
    """Return q11: the bids of a bidder without a pause of ten seconds."""
    keyed = op.key_on("bidder", streams["Bids"], lambda row: str(row[0]))
    moments = op.map("moment", keyed, lambda row: (row[0], (row[1][1],)))
    sessions = w.fold_window(
        "sessions", moments, clock(0), w.SessionWindower(TEN_SECONDS), list[datetime],
        noted, lambda one, other: one + other,
    ).down  # fmt: skip
    return op.map("rows", sessions, lambda row: (int(row[0]), len(row[1][1]), min(row[1][1]), max(row[1][1])))


def counts(streams: dict[str, Stream]) -> Stream:
    """Return q12: the bids of a bidder in ten seconds."""
    windower = w.TumblingWindower(length=TEN_SECONDS, align_to=EPOCH)
    counts = w.count_window("counts", streams["Bids"], clock(1), windower, lambda row: str(row[0])).down
    return op.map("rows", counts, lambda row: (int(row[0]), row[1][0], row[1][1]))


def ranks(streams: dict[str, Stream]) -> Stream:
    """Return q15: bids, bidders and auctions of a day, of all prices and of three ranges of prices."""

    def add(day: list, bid: tuple) -> list:
        auction, bidder, price, _ = bid
        for place in (0, 1 if price < LOW else 2 if price < HIGH else 3):
            total = day[place]
            total[0] += 1
            total[1].add(bidder)
            total[2].add(auction)
        return day

    keyed = op.key_on("day", streams["Bids"], lambda row: str((row[3] - EPOCH).days))
    days = op.fold_final("days", keyed, lambda: [[0, set(), set()] for _ in range(4)], add)
    return op.map(
        "rows", days,
        lambda row: (int(row[0]), *(rank[0] for rank in row[1]), *(len(rank[1]) for rank in row[1]),
                     *(len(rank[2]) for rank in row[1])),
    )  # fmt: skip


def _window(moment: datetime) -> int:
    return (moment - EPOCH) // TEN_SECONDS


FLOWS: dict[str, Flow] = {
    "q0": lambda streams: streams["Bids"],
    "q1": lambda streams: op.map("dollars", streams["Bids"], lambda row: (row[0], row[1], row[2] * 0.908, row[3])),
    "q2": lambda streams: op.filter("some", streams["Bids"], lambda row: row[0] % 123 == 0),
    "q3": join_sellers,
    "q4": closing,
    "q5": hot_items,
    "q7": highest_bids,
    "q8": new_sellers,
    "q11": sessions,
    "q12": counts,
    "q15": ranks,
}
"""The flows of all queries but q6, for which no operator keeps enough rows."""


def run(query: str, files: str, slices: int) -> tuple[list[tuple], float]:
    """Return the result of a query, in no order, and the seconds that it took."""
    flow, result = Dataflow(query), list[tuple]()
    streams = {
        stream: op.input(stream, flow, Kind(sorted(Path(files, stream).iterdir())[:slices], names))
        for stream, names in QUERIES[query]["reads"].items()
    }
    op.output("out", FLOWS[query](streams), TestingSink(result))
    began = time.monotonic()
    cluster_main(flow, [], 0)
    return result, time.monotonic() - began


def main(files: str, events: str, *queries: str) -> None:
    """Measure."""
    rates: dict[str, float] = {}
    for query in queries:
        if query in FLOWS:
            slices = len(list(Path(files, "Bids").iterdir()))
            taken = max(1, slices // PART)
            _, seconds = run(query, files, taken)
            rates[query] = int(events) * taken / slices / seconds
            print(f"  {query} in Bytewax: {rates[query]:,.0f} events/s", file=sys.stderr, flush=True)
    print(json.dumps(rates))


if __name__ == "__main__":
    main(*sys.argv[1:])
