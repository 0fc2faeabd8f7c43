"""The events of Nexmark: people, auctions and bids, 1 to 3 to 46, each made from its number alone.

Proportions, identifiers and hot keys are as in the generator of Apache Beam, after P. Tucker, K. Tufte, V. Papadimos,
D. Maier: NEXMark - A Benchmark for Queries over Data Streams, 2002. The values are random, but the same wherever a
slice of the events begins and ends.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from benchmarks.disorder import arrival_order
from streams_orchestration.operators.contract.operator import Offset, Parameters, ProducedTo, SourceOperator
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch

PERSON = "id bigint, name string, email string, city string, state string, moment timestamp, extra string"
AUCTION = (
    "id bigint, item string, initial bigint, reserve bigint, moment timestamp, expires timestamp, seller bigint, "
    "category bigint, extra string"
)
BID = "auction bigint, bidder bigint, price bigint, channel string, moment timestamp, extra string"
KINDS = {"People": PERSON, "Auctions": AUCTION, "Bids": BID}
"""Stream -> its attributes, in the order of `Events`."""
PEOPLE, AUCTIONS, ROUND = 1, 3, 50
"""The people and the auctions in a round of events, and all events of a round; the others are bids."""
FIRST_PERSON = FIRST_AUCTION = 1000
ACTIVE_PEOPLE, OPEN_AUCTIONS, HOT = 1000, 100, 100
"""The number of the last people, and of the last auctions, that events choose from; one of `HOT` is hot."""
OPEN_TIME = 2 * OPEN_AUCTIONS * ROUND // AUCTIONS
"""Events within which an auction ends."""
FIRST_CATEGORY, CATEGORIES = 10, 5
BEGIN = 1_700_000_000_000_000
"""Microseconds since 1970, of the first event."""
STATES = np.array(["AZ", "CA", "ID", "OR", "WA", "WY"])
CITIES = np.array(["Phoenix", "Los Angeles", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne"])
NAMES = np.array([f"{a} {b}" for a in ("Peter", "Paul", "Luke", "Kate", "Sarah") for b in ("Jones", "Smith", "Noris")])
CHANNELS = np.array(["Google", "Facebook", "Baidu", "Apple"])


class Events(NamedTuple):
    """A slice of the events, by kind."""

    people: pa.RecordBatch
    auctions: pa.RecordBatch
    bids: pa.RecordBatch


def events(first: int, count: int, every: int = 100) -> Events:
    """Return the events of consecutive numbers.

    Args:
        first: the number of the first event.
        count: the number of events.
        every: microseconds between two events.
    """
    return numbered(np.arange(first, first + count), every)


def numbered(numbers: np.ndarray, every: int = 100) -> Events:
    """Return the events of these numbers, in this order."""
    place = numbers % ROUND
    people, bids = numbers[place < PEOPLE], numbers[place >= PEOPLE + AUCTIONS]
    auctions = numbers[(place >= PEOPLE) & (place < PEOPLE + AUCTIONS)]
    return Events(_people(people, every), _auctions(auctions, every), _bids(bids, every))


def _people(numbers: np.ndarray, every: int) -> pa.RecordBatch:
    names = NAMES[_draw(numbers, 1, len(NAMES))]
    ids = FIRST_PERSON + numbers // ROUND * PEOPLE
    emails = np.char.add(ids.astype(str), "@example.com") if len(ids) else np.zeros(0, str)
    return _batch(
        PERSON, ids, names, emails, CITIES[_draw(numbers, 2, len(CITIES))], STATES[_draw(numbers, 3, len(STATES))],
        BEGIN + numbers * every, _filling(numbers, 100),
    )  # fmt: skip


def _auctions(numbers: np.ndarray, every: int) -> pa.RecordBatch:
    ids = FIRST_AUCTION + numbers // ROUND * AUCTIONS + numbers % ROUND - PEOPLE
    latest = numbers // ROUND * PEOPLE
    hot = latest // HOT * HOT
    sellers = np.where(_draw(numbers, 4, 4) > 0, hot, latest - _draw(numbers, 5, ACTIVE_PEOPLE) % (latest + 1))
    initial = _price(numbers, 6)
    at = BEGIN + numbers * every
    return _batch(
        AUCTION, ids, np.char.add("item ", _draw(numbers, 7, 1000).astype(str)), initial,
        initial + _price(numbers, 8), at, at + 1 + _draw(numbers, 9, OPEN_TIME * every), FIRST_PERSON + sellers,
        FIRST_CATEGORY + _draw(numbers, 10, CATEGORIES), _filling(numbers, 300),
    )  # fmt: skip


def _bids(numbers: np.ndarray, every: int) -> pa.RecordBatch:
    auction = numbers // ROUND * AUCTIONS + AUCTIONS - 1
    person = numbers // ROUND * PEOPLE
    auctions = np.where(
        _draw(numbers, 11, 2) > 0, auction // HOT * HOT, auction - _draw(numbers, 12, OPEN_AUCTIONS) % (auction + 1)
    )
    bidders = np.where(
        _draw(numbers, 13, 4) > 0, np.minimum(person // HOT * HOT + 1, person),
        person - _draw(numbers, 14, ACTIVE_PEOPLE) % (person + 1),
    )  # fmt: skip
    return _batch(
        BID, FIRST_AUCTION + auctions, FIRST_PERSON + bidders, _price(numbers, 15),
        CHANNELS[_draw(numbers, 16, len(CHANNELS))], BEGIN + numbers * every, _filling(numbers, 30),
    )  # fmt: skip


def _random(numbers: np.ndarray, what: int) -> np.ndarray:
    """Return 64 random bits for each number: the finaliser of SplitMix64."""
    mixed = (numbers.astype(np.uint64) * np.uint64(64) + np.uint64(what)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _draw(numbers: np.ndarray, what: int, size: int) -> np.ndarray:
    """Return a random number from 0 to below `size` for each number."""
    return (_random(numbers, what) % np.uint64(size)).astype(np.int64)


def _price(numbers: np.ndarray, what: int) -> np.ndarray:
    """Return a price in cents for each number, from a dollar to a million."""
    share = _random(numbers, what).astype(np.float64) / 2.0**64
    return np.rint(10.0 ** (share * 6) * 100).astype(np.int64)


def _filling(numbers: np.ndarray, size: int) -> pa.Array:
    """Return texts that make the events as large as in other generators."""
    texts = pa.array([chr(ord("a") + number) * size for number in range(16)])
    return texts.take(pa.array(_draw(numbers, 17, 16)))


def _batch(ddl: str, *columns: np.ndarray | pa.Array) -> pa.RecordBatch:
    schema = arrow_schema(ddl)
    arrays = [pa.array(column) for column in columns]
    cast = [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)]
    return pa.RecordBatch.from_arrays(cast, schema=schema)


def out_of_order(count: int, every: int = 100, late: float = 0.01, seed: int = 7) -> np.ndarray:
    """Return the numbers of the first events, shuffled within 4 s of their times.

    Args:
        count: of the events.
        every: microseconds between two events.
        late: the share of events that come later than that.
        seed: the seed of the order.
    """
    return arrival_order(np.arange(count) * every, np.random.default_rng(seed), late)


def write_events(
    directory: Path, count: int, slice: int, every: int = 100, *, numbers: np.ndarray | None = None
) -> None:
    """Write events as files of Parquet: `Bids/00000.parquet`, a file of each kind for every slice.

    Args:
        directory: for the files.
        count: of the events, a multiple of `slice`.
        slice: events of a file of each kind.
        every: microseconds between two events.
        numbers: their numbers in order of arrival; None if they come in order.
    """
    order = np.arange(count) if numbers is None else numbers
    for kind in KINDS:
        (directory / kind).mkdir(parents=True)
    for number in range(count // slice):
        made = numbered(order[number * slice : (number + 1) * slice], every)
        for kind, batch in zip(KINDS, made, strict=True):
            pq.write_table(pa.Table.from_batches([batch]), directory / kind / f"{number:05}.parquet")


def write_rows(files: Path, directory: Path) -> None:
    """Write the files of `write_events` as one file of CSV for each kind, with times as microseconds since 1970."""
    directory.mkdir(parents=True)
    for kind in KINDS:
        table = pa.concat_tables(pq.read_table(file) for file in sorted((files / kind).iterdir()))
        for place, field in enumerate(table.schema):
            if pa.types.is_timestamp(field.type):
                table = table.set_column(place, field.name, table.column(place).cast(pa.int64()))
        pa_csv.write_csv(table, directory / f"{kind}.csv", pa_csv.WriteOptions(include_header=False))


class NexmarkParameters(Parameters):
    """Parameters of `NexmarkSource`."""

    events: int
    every: int = 100
    streams: list[str]
    """The kind of event of each output port."""
    files: str = ""
    """A directory of `write_events` to read; else they are made."""


class NexmarkSource(SourceOperator):
    """The events from their number on; an output port for each kind that is wanted.

    Read from files, a batch is a slice.
    """

    Parameters = NexmarkParameters

    @classmethod
    def initial_offset(cls) -> Offset:
        """Return the offset of the first event."""
        return {"event": 0, "slice": 0}

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit the next events."""
        first, number, parameters = offset["event"], offset["slice"], self.parameters
        if parameters.files:
            schemas = [schema for schema in self.context.outputs if schema is not None]
            for port, (stream, schema) in enumerate(zip(parameters.streams, schemas, strict=True)):
                file = pq.ParquetFile(Path(parameters.files, stream, f"{number:05}.parquet"))
                for batch in file.read(columns=schema.names).combine_chunks().to_batches():
                    self.submit(TupleBatch(batch.select(schema.names).cast(schema)), port)
            count = parameters.events // len(list(Path(parameters.files, parameters.streams[0]).iterdir()))
        else:
            count = min(limit, parameters.events - first)
            made = dict(zip(KINDS, events(first, count, parameters.every), strict=True))
            for port, stream in enumerate(parameters.streams):
                schema = self.context.outputs[port]
                assert schema is not None
                self.submit(TupleBatch(made[stream].select(schema.names)), port)
        return ProducedTo({"event": first + count, "slice": number + 1}, exhausted=first + count >= parameters.events)
