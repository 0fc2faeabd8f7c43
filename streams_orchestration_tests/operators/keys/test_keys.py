"""Keys are equal in one sense everywhere: in groups, windows, joins and channels, wherever batches begin and end."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.expressions.spl.keys import canonical_keys, ordered_decimals
from streams_orchestration.operators.keys.comparison import distinct, normalised
from streams_orchestration.operators.standard import STANDARD
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.key_index import KeyIndex
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.tasks.routing import hash_channels
from streams_orchestration.spl.types.types import Collection, Primitive
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench

DECIMALS_OF_34 = Context(prec=34)
NAN = math.nan
OTHER_NAN = float(np.array([0xFFF8000000000001], np.uint64).view(np.float64)[0])
VALUES: dict[str, list[Any]] = {
    "double": [0.0, -0.0, 1.5, NAN, OTHER_NAN, None],
    "float": [0.0, -0.0, 0.5, NAN, OTHER_NAN, None],
    "string": ["", "a", "\u00e9", "e\u0301", None],
    "binary": [b"", b"\x00", b"a", None],
    "decimal(10, 2)": [Decimal("0.00"), Decimal("1.50"), Decimal("-1.50"), None],
    "boolean": [True, False, None],
}
NESTED: dict[str, list[Any]] = {
    "array<double>": [[], [0.0], [-0.0], [NAN, 1.5], [OTHER_NAN, 1.5], [1.5, NAN], [None], None],
    "map<string, int>": [{}, {"a": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": None}, None],
    "struct<a: array<timestamp>, b: map<float, string>>": [
        {"a": None, "b": {0.0: "x", 1.0: "y"}},
        {"a": None, "b": {1.0: "y", -0.0: "x"}},
        {"a": [], "b": {0.0: "x", 1.0: "y"}},
        {"a": None, "b": None},
        None,
    ],
}
VALUES |= NESTED
Event = tuple[int, tuple[Any, int]]
"""Input port, and a tuple of a key and a number."""


@dataclass(frozen=True)
class Keyed:
    """An operator that compares keys, as a case.

    Attributes:
        parameters: with `x` as the key and `n` as a number of each stream.
        output: the attributes of every output; None for those of the input.
        inputs: the number of input ports.
        outputs: the number of output ports.
        types: the types that the key may have.
    """

    parameters: dict[str, Any]
    output: str | None = None
    inputs: int = 1
    outputs: int = 1
    types: Sequence[str] = tuple(VALUES)


SUMS = "x {}, k bigint, s bigint"
FUNCTIONS = {"k": "Count()", "s": "Sum(n)"}
CASES: dict[str, list[Keyed]] = {
    "Aggregate": [
        Keyed({"window": "tumbling, punct()", "groupBy": ["x"], "output": FUNCTIONS}, SUMS),
        Keyed(
            {
                "window": "tumbling, count(2), partitioned",
                "partitionBy": ["x"],
                "output": FUNCTIONS,
                "aggregateIncompleteWindows": True,
            },
            SUMS,
        ),
        Keyed({"window": "sliding, count(2), count(1), partitioned", "partitionBy": ["x"], "output": FUNCTIONS}, SUMS),
        Keyed({"window": "tumbling, delta(n, 2), partitioned", "partitionBy": ["x"], "output": FUNCTIONS}, SUMS),
    ],
    "DeDuplicate": [Keyed({"key": "x"}, outputs=2), Keyed({"key": "x", "delta": 3, "deltaAttribute": "n"}, outputs=2)],
    "Join": [
        Keyed(
            {
                "window": "sliding, delta(n, 100)",
                "equalityLHS": ["x"],
                "equalityRHS": ["x"],
                "output": {"a": "lhs_n", "b": "rhs_n"},
            },
            "a bigint, b bigint",
            inputs=2,
        )
    ],
    "DynamicFilter": [Keyed({"key": "x", "addKey": "x", "removeKey": "x"}, inputs=3, outputs=2)],
    "Barrier": [Keyed({"partitionBy": ["x"], "output": {"a": "in0_n", "b": "in1_n"}}, "a bigint, b bigint", inputs=2)],
    "Pair": [Keyed({"partitionBy": ["x"]}, inputs=2)],
    "Sort": [
        Keyed({"window": "tumbling, count(2), partitioned", "partitionBy": ["x"], "sortBy": ["n"]}),
        Keyed({"window": "sliding, count(2), partitioned", "partitionBy": ["x"], "sortBy": ["n"]}),
    ],
    "Lookup": [
        Keyed(
            {"table": "table.parquet", "key": "x", "attribute": "x", "take": {"m": "m"}},
            "x {}, n bigint, m bigint",
        )
    ],
    "Split": [Keyed({"file": "ports.csv", "key": "x"}, outputs=2, types=["string"])],
}
SINKS = {"DeltaSink", "IcebergSink", "KafkaSink", "SqlSink"}
"""Their keys are normalised before they are written, see the tests of sinks."""
NOT_COMPARED = {
    "DirectoryScan": "orders names of files",
    "FileSink": "names directories, by types that have one text for each value",
    "HttpSource": "a file with a private key",
    "Merge": "orders tuples, of which none is another's",
}


def operator_of(kind: str) -> type[Operator]:
    module, _, name = STANDARD[kind].partition(":")
    return getattr(import_module(module), name)


def names_keys(kind: str) -> bool:
    fields = operator_of(kind).Parameters.model_fields
    names = [(field.alias or name) for name, field in fields.items()]
    return any("key" in name.lower() or name.endswith("By") or name.startswith("equality") for name in names)


def test_every_operator_with_keys_is_covered():
    assert {kind for kind in STANDARD if names_keys(kind)} == {*CASES, *SINKS, *NOT_COMPARED}


def made(kind: str, case: Keyed, ddl: str, base: Path) -> Bench:
    output = f"x {ddl}, n bigint" if case.output is None else case.output.format(ddl)
    inputs = [f"x {ddl}, n bigint"] * case.inputs
    return Bench(operator_of(kind), inputs, [output] * case.outputs, base=base, **case.parameters)


def send(bench: Bench, events: Sequence[Event], cuts: set[int]) -> None:
    """Send tuples of one port that follow one another as a batch, which also ends at the cuts, with a restart."""
    held: list[Event] = []
    for position, event in enumerate(events):
        if held and (position in cuts or held[-1][0] != event[0]):
            bench.send([row for _, row in held], held[-1][0])
            held = []
        if position in cuts:
            bench.restart()
        held.append(event)
    if held:
        bench.send([row for _, row in held], held[-1][0])


def results(benches: Sequence[Bench], outputs: int) -> list[list[str]]:
    """Return the tuples of each port as an unordered collection: `repr` tells values apart that are equal."""
    for bench in benches:
        bench.end()
    return [sorted(repr(row) for bench in benches for row in bench.rows(port)) for port in range(outputs)]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Directories with a table of keys for each type."""
    made: dict[str, Path] = {}
    for ddl, values in VALUES.items():
        base = made[ddl] = tmp_path_factory.mktemp("keys")
        known = KeyedState(f"x {ddl}")
        given = [value for value in values if value is not None]
        keys = TupleBatch.from_columns({"x": given}, known.keys_schema).arrow.column("x")
        keys = keys.filter(pa.array(known.add_many(keys)))
        table = pa.table({"x": keys, "m": pa.array(range(len(keys)), pa.int64())})
        pq.write_table(table, base / "table.parquet")
        (base / "ports.csv").write_text("a,0\n\u00e9,1\ndefault,0,1\n")
    return made


@pytest.mark.parametrize(
    ("kind", "case", "ddl"),
    [
        pytest.param(kind, case, ddl, id=f"{kind}-{number}-{ddl}")
        for kind, cases in CASES.items()
        for number, case in enumerate(cases)
        for ddl in case.types
    ],
)
@given(data=st.data())
@examples(6)
def test_results_depend_neither_on_batches_nor_on_the_width(
    kind: str, case: Keyed, ddl: str, bases: dict[str, Path], data: st.DataObject
):
    parts = st.tuples(st.integers(0, case.inputs - 1), st.sampled_from(VALUES[ddl]))
    events = [(port, (key, n)) for n, (port, key) in enumerate(data.draw(st.lists(parts, max_size=14)))]
    cuts, width = data.draw(st.sets(st.integers(0, 14))), data.draw(st.integers(1, 4))
    whole, divided = (made(kind, case, ddl, bases[ddl]) for _ in range(2))
    send(whole, events, set())
    send(divided, events, cuts)
    expected = results([whole], case.outputs)
    assert results([divided], case.outputs) == expected
    if "delta" in case.parameters:
        return  # its time is the largest value of its own channel
    channels = [made(kind, case, ddl, bases[ddl]) for _ in range(width)]
    keys = pa.record_batch({"x": pa.array([row[0] for _, row in events], whole.context.inputs[0].field("x").type)})
    numbers = hash_channels(keys, ("x",), width).tolist()
    for channel, bench in enumerate(channels):
        send(bench, [event for event, at in zip(events, numbers, strict=True) if at == channel], cuts)
    assert results(channels, case.outputs) == expected


def test_nan_of_any_bits_is_in_the_window_of_its_partition():
    bench = Bench(
        Aggregate,
        ["x double"],
        ["x double, k bigint"],
        window="tumbling, count(3), partitioned",
        partitionBy=["x"],
        output={"k": "Count()"},
        aggregateIncompleteWindows=True,
    )
    bench.send([(0.0,), (-0.0,), (1.5,), (NAN,), (0.0,), (OTHER_NAN,), (-0.0,)]).end()
    assert sorted(map(repr, bench.rows())) == ["(0.0, 1)", "(0.0, 3)", "(1.5, 1)", "(nan, 2)"]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_normalised_values_have_one_pattern_for_each_key(kind: pa.DataType):
    column = normalised(pa.array([0.0, -0.0, NAN, OTHER_NAN, None, 1.5], kind))
    assert repr(column.to_pylist()) == "[0.0, 0.0, nan, nan, None, 1.5]"
    assert len(column.unique()) == 4
    assert len(distinct([column], len(column))[0]) == 4


@pytest.mark.parametrize("values", [["a", None], [1, 2], [b"a"], [True], [Decimal("1.5")]])
def test_types_with_one_pattern_for_a_value_are_not_copied(values: list[Any]):
    column = pa.array(values)
    assert normalised(column) is column


def test_an_index_holds_normalised_keys():
    index = KeyIndex(pa.schema([("x", pa.float64())]))
    rows = [index.add(pa.record_batch({"x": pa.array([value])})).tolist() for value in (-0.0, 0.0, OTHER_NAN, NAN)]
    assert rows == [[0], [0], [1], [1]]
    assert repr(index.keys(np.arange(2)).column(0).to_pylist()) == "[0.0, nan]"


def test_a_dictionary_state_finds_nan_and_zero():
    state = DictState({(NAN, "a"): 1, -0.0: 2})
    loaded = DictState.load(state.whole())
    for each in (state, loaded):
        assert (each[(OTHER_NAN, "a")], each[0.0], each.get((NAN, "b"))) == (1, 2, None)
        assert repr(list(each)) == "[(nan, 'a'), 0.0]"


def channel(array: pa.Array) -> list[int]:
    return hash_channels(pa.record_batch({"a": array}), ("a",), 1 << 62).tolist()


SAME: dict[str, Callable[[], list[pa.Array]]] = {
    "scales of decimals": lambda: [
        pa.array([Decimal("1.50"), Decimal("-2"), None]).cast(pa.decimal128(38, scale)) for scale in (2, 9, 20)
    ],
    "units of timestamps": lambda: [
        pa.array([0, 5, -7, None], pa.timestamp("s")).cast(pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")
    ],
    "zones of timestamps": lambda: [pa.array([0, None], pa.timestamp("us", zone)) for zone in ("UTC", "Asia/Tokyo")],
    "layouts of texts": lambda: [
        pa.array(["a", "", None], kind) for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary())
    ],
    "zeros in arrays": lambda: [pa.array([[value, NAN], [], None]) for value in (0.0, -0.0)],
    "nulls over values": lambda: [
        pa.array([{"a": 1, "b": -0.0}, None], pa.struct([("a", kind), ("b", pa.float64())]))
        for kind in (pa.int32(), pa.int64())
    ],
    "orders of maps": lambda: [
        pa.array([items, None], pa.map_(pa.string(), pa.int64()))
        for items in ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)])
    ],
}


@pytest.mark.parametrize("case", SAME)
def test_equal_keys_go_to_one_channel_whatever_their_type_and_layout(case: str):
    hashes = [channel(array) for array in SAME[case]()]
    assert all(each == hashes[0] for each in hashes)
    assert len(set(hashes[0][:-1])) == len(hashes[0]) - 1


def test_the_order_in_an_array_decides_about_keys_and_not_about_channels():
    arrays = pa.array([[1, 2], [2, 1], [1], [1, 0]])
    assert len(distinct([arrays], 4)[0]) == 4
    assert len(set(channel(arrays))) == 3


NUMBERS = st.decimals(allow_nan=False, places=None) | st.integers(-30, 30).map(lambda n: Decimal(n).scaleb(-1))


@given(st.lists(NUMBERS, max_size=8))
@examples(100)
def test_decimals_of_spl_are_ordered_and_equal_as_their_numbers_are(numbers: list[Decimal]):
    numbers = [DECIMALS_OF_34.create_decimal(each) for each in numbers]
    texts, type_ = pa.array(list(map(str, numbers)), pa.string()), Primitive("decimal128")
    ordered = ordered_decimals(texts, type_).to_pylist()
    assert [sorted(set(numbers)).index(each) for each in numbers] == [
        sorted(set(ordered)).index(each) for each in ordered
    ]
    keys = canonical_keys(texts, type_).to_pylist()
    assert [[one == other for one in numbers] for other in numbers] == [
        [one == other for one in keys] for other in keys
    ]


SET_OF_MAPS = Collection(
    "set", (Collection("map", (Primitive("rstring"), Collection("set", (Primitive("float64"),)))),)
)


@given(st.lists(st.dictionaries(st.sampled_from("ab"), st.sets(st.sampled_from([0.5, 1.0]))), max_size=4), st.randoms())
@examples(40)
def test_sets_of_spl_are_equal_in_any_order_of_their_parts(value: list[dict[str, set[float]]], order: Random):
    def shuffled(each: dict[str, set[float]]) -> list[tuple[str, list[float]]]:
        entries = [(key, order.sample(sorted(numbers), len(numbers))) for key, numbers in each.items()]
        return order.sample(entries, len(entries))

    rows = [order.sample([shuffled(each) for each in value], len(value)) for _ in range(3)]
    kind = pa.list_(pa.map_(pa.string(), pa.list_(pa.float64())))
    keys = canonical_keys(pa.array([*rows, [*rows[0], []]], kind), SET_OF_MAPS)
    assert distinct([keys], 4)[1].tolist() == [0, 0, 0, 1]
