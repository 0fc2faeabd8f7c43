"""Calls, and the spec that they make."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict, cast

import pyarrow as pa
import pytest
import yaml

import streams_orchestration.builder.operators as op
from streams_orchestration.builder import Application, BuildError, consistent, parallel, port, threading, use
from streams_orchestration.builder.schemas import ddl_of
from streams_orchestration.builder.values import import_path
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.operators import TupleBatch, operator

ROOT = Path(__file__).parents[2]


class Reading(TypedDict):
    sensor: str
    value: float | None


@dataclasses.dataclass
class Place:
    name: str
    tags: list[str]


class Event(NamedTuple):
    number: Annotated[int, "smallint"]
    at: datetime.datetime | None
    where: Place
    counts: dict[str, int]


@operator(preserves_window_punctuation=True)
def as_it_is(batch: TupleBatch) -> TupleBatch:
    return batch


def doubled(batch: TupleBatch) -> dict[str, Any]:
    return {"sensor": batch.column("sensor"), "value": batch.column("value") * 2}


def named(values: dict[str, Any]) -> dict[str, Any]:
    return values | {"sensor": values["sensor"].upper()}


def spec_of(app: Application) -> dict[str, Any]:
    return yaml.safe_load(app.to_yaml())


def names(app: Application) -> list[str]:
    return [node["name"] for node in spec_of(app)["graph"]]


def readings(app: Application) -> Any:
    return app.stream(op.Beacon(iterations=3), schema=Reading, name="Readings")


def test_a_query_reads_its_stream_as_self_and_others_by_their_names():
    app = Application("a")
    first, second = readings(app), app.stream(op.Beacon(iterations=3), schema=Reading, name="Second")
    query = "SELECT self.sensor, other.value FROM self JOIN other ON self.sensor = other.sensor"
    first.sql(query, Reading, output_mode="update", other=second, name="Both").to_files("both")
    node = spec_of(app)["graph"][2]
    assert node["inputs"] == [{"streams": ["Readings"], "name": "self"}, {"streams": ["Second"], "name": "other"}]
    assert node["parameters"] == {"query": query, "outputMode": "update"}
    assert app.compile().diagnostics == ()


def test_an_operator_is_called_like_the_variable_that_it_is_assigned_to():
    app = Application("a")
    first = app.stream(op.Beacon(iterations=1), schema="n bigint")
    second = first.filter("n > 0").filter("n > 1")
    third: Any = app.stream(op.Union(), second, name="Given")
    for _ in range(2):
        third = third.filter("n > 2")
    low, high = third.split("n", 2)
    low.to_files("low")
    high.to_files("high")
    assert names(app) == [
        "first", "second_Filter", "second", "Given", "third_Filter", "third", "third_Split", "low_FileSink",
        "high_FileSink",
    ]  # fmt: skip
    assert spec_of(app)["graph"][6]["outputs"] == ["low", "high"]


def test_several_statements_in_a_line_name_nothing():
    app = Application("a")
    first = readings(app); first.filter("value > 0")  # fmt: skip  # noqa: E702
    assert names(app) == ["Readings", "Readings_Filter"]


def test_a_wrong_shape_of_outputs_is_an_error_that_says_the_right_one():
    app = Application("a")
    for wrong in ("few", -1, True, {"few": "n bigint"}, [1], [("few",)], [("few", "n bigint", 3)], ["no name"]):
        with pytest.raises(
            BuildError, match=r"test_building.py:\d+: outputs: .* is not an output; say how many streams"
        ):
            app.streams(op.Beacon(iterations=1), outputs=cast("Any", wrong))


def test_map_without_a_schema_gives_tuples_of_the_type_of_its_stream():
    app = Application("a")
    kept = readings(app).filter("value > 0")
    kept.map(doubled).map(named).map({"value": "value + 1"}).to_files("out", name="Out")
    assert app.test({"Readings": [("a", 1.0), ("b", -1.0)]})["Out"].to_pylist() == [{"sensor": "A", "value": 3.0}]
    unknown = app.stream(op.Union(), "Later")
    with pytest.raises(BuildError, match=r"the schema of the mapped stream is not known here"):
        unknown.map(doubled)


def test_the_ports_of_a_block_are_the_streams_that_it_reads_and_gives():
    app = Application("a")
    left, right = readings(app), app.stream(op.Beacon(iterations=3), schema=Reading, name="Others")
    with app.parallel("Part", 2, partition_by=["sensor"], broadcast=[right]):
        both = left.union(right)
        with app.block("Inner"):
            inner = both.filter("value > 0")
        outer = inner.filter("value > 1")
    outer.to_files("outer")
    inner.to_files("inner")
    spec = spec_of(app)
    part = spec["graph"][2]
    assert part["inputs"] == ["Readings", "Others"]
    assert part["outputs"] == ["outer", "inner"]
    assert part["annotations"]["parallel"] == {
        "width": 2, "partitionBy": [{"port": "Readings", "attributes": ["sensor"]}], "broadcast": ["Others"],
    }  # fmt: skip
    assert spec["composites"]["Part"]["inputs"] == ["Readings", "Others"]
    assert spec["composites"]["Inner"] == {
        "inputs": ["both"], "outputs": ["inner"],
        "graph": [{"name": "inner", "operator": "Filter", "inputs": ["both"], "parameters": {"filter": "value > 0"}}],
    }  # fmt: skip
    assert {each.name for each in app.compile().physical.operators if "Part[1]" in each.name} == {
        "Part[1].both", "Part[1].Inner.inner", "Part[1].outer",
    }  # fmt: skip


def test_an_operator_may_be_parallel_by_itself():
    app = Application("a")
    stream = readings(app)
    stream.filter("value > 0", name="Few").parallel(2, partition_by={stream: ["sensor"]}).to_files("few")
    (few,) = [node for node in spec_of(app)["graph"] if node["name"] == "Few"]
    assert few["inputs"] == [{"streams": ["Readings"], "name": "in0"}]
    assert few["annotations"]["parallel"]["partitionBy"] == [{"port": "in0", "attributes": ["sensor"]}]
    assert app.compile()


def test_a_composite_is_used_like_an_operator():
    app = Application("a")
    with app.composite("Positive", ["In"], config={"restartable": True}) as positive:
        out = positive["In"].filter("value > 0")
        positive.outputs(out)
    one, two = positive(readings(app), name="One"), positive.streams("Readings", name="Two")
    one.union(*two).to_files("all")
    spec = spec_of(app)
    assert spec["composites"]["Positive"]["outputs"] == ["out"]
    assert [(node["operator"], node["inputs"]) for node in spec["graph"][1:3]] == [("Positive", ["Readings"])] * 2
    assert app.compile()
    with pytest.raises(KeyError, match="Positive has no input port Inn; its input ports are In"):
        positive["Inn"]


def test_blocks_have_names_of_their_own():
    app = Application("a")
    stream = readings(app)
    with app.composite("Part_2", ["In"]) as other:
        other.outputs(other["In"])
    for _ in range(2):
        with app.block("Part"):
            stream.filter("value > 0")
    assert sorted(spec_of(app)["composites"]) == ["Part", "Part_2", "Part_3"]
    with app.composite("Part_2"):
        pass
    with pytest.raises(BuildError, match="there is already a composite Part_2"):
        app.document()


def test_a_composite_reads_what_comes_in_by_its_ports_only():
    app = Application("a")
    stream = readings(app)
    with (
        app.composite("Broken"),
        pytest.raises(BuildError, match=r"test_building\.py:\d+: a stream of the application"),
    ):
        stream.filter("value > 0")


def test_functions_and_classes_are_operators():
    app = Application("a")
    mapped = readings(app).map(doubled, Reading).map(named, Reading).map(as_it_is, Reading)
    mapped.map({"twice": "value * 2"}, "twice double").to_files("twice")
    spec = spec_of(app)
    assert [node.get("parameters") for node in spec["graph"][1:3]] == [
        {"function": f"{__name__}:doubled"}, {"onTuple": f"{__name__}:named"},
    ]  # fmt: skip
    assert spec["operators"]["as_it_is"] == {
        "inputs": [{}], "outputs": [{"mutable": True, "preservesWindowPunctuation": True}],
        "implementation": f"{__name__}:as_it_is",
    }  # fmt: skip
    assert app.test({"Readings": [("a", 1.0), ("b", 2.0)]})["mapped_FileSink"].to_pydict() == {"twice": [4.0, 8.0]}


def test_expressions_are_mapped_with_the_parameters_of_a_functor():
    app = Application("a")
    readings(app).map({"twice": "value * 2"}, "twice double", filter="value > 1").to_files("twice", name="Out")
    assert app.test({"Readings": [("a", 1.0), ("b", 2.0)]})["Out"].to_pydict() == {"twice": [4.0]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", 1.0), ("b", "two")], "Readings, tuple 1: attribute value: a value does not fit double"),
        ([("a", 1.0), (True, 2.0)], "Readings, tuple 1: attribute sensor: a value does not fit string"),
        ([("a", 1.0), ("b",)], r"Readings, tuple 1: \('b',\) is not a row of 2 values: sensor, value"),
        ([("a", 1.0), "b"], "Readings, tuple 1: 'b' is not a row of 2 values: sensor, value"),
        ([{"sensor": "a", "valeu": 1.0}], "Readings, tuple 0: no attribute valeu; the attributes are sensor, value"),
        (pa.table({"sensor": ["a"], "value": ["x"]}), "Readings: attribute value: a value does not fit double"),
    ],
)
def test_tuples_of_a_trial_that_do_not_fit_are_named(rows: Any, message: str):
    app = Application("a")
    readings(app).to_files("all")
    with pytest.raises(ValueError, match=message):
        app.test({"Readings": rows})


def test_an_attribute_that_a_tuple_of_a_trial_leaves_out_is_null():
    app = Application("a")
    readings(app).to_files("all")
    assert app.test({"Readings": [{"sensor": "a"}]})["Readings_FileSink"].to_pylist() == [
        {"sensor": "a", "value": None}
    ]


@pytest.mark.parametrize("bad", [[("f", "why")], None], ids=["both", "one of them"])
def test_a_source_of_a_trial_may_have_several_outputs(bad: Any):
    app = Application("a")
    outputs = [("good", "n bigint"), ("bad", "file string, reason string")]
    good, wrong = app.streams(op.FileSource(file="rows.csv", parsing="permissive"), outputs=outputs)
    good.to_files("good", name="Good")
    wrong.to_files("bad", name="Bad")
    tables = app.test({"good": [(1,), (2,)]} | ({} if bad is None else {"bad": bad}))
    assert tables["Good"].to_pydict() == {"n": [1, 2]}
    assert tables["Bad"].to_pydict() == {"file": ["f"] if bad else [], "reason": ["why"] if bad else []}


def test_a_function_that_hosts_cannot_import_is_refused():
    with pytest.raises(ValueError, match="cannot be imported by the hosts: define it at the top of a module"):
        import_path(lambda batch: batch)


def test_calls_of_a_stream_annotate_and_configure_its_operator():
    app = Application("a")
    pool = app.host_pool("p", tags=["big"], size=2)
    width = app.submission("width", int, default=2)
    readings(app).consistent(2, drain_timeout=9).in_pe("t").apart("x", "y").isolate().on_host(pool=pool).threaded(
        width, congestion="Sys.DropLast"
    ).configure(restartable=False).written(visibility="read_uncommitted").annotate(
        threading=threading("dedicated", threads=width)
    ).filter("value > 0").autonomous().sink(use("Sink"), name="End")
    (node, *_) = spec_of(app)["graph"]
    assert node["annotations"] == {
        "consistent": {"trigger": "periodic", "period": 2, "drainTimeout": 9},
        "threading": {"model": "dedicated", "threads": "${width}"},
    }
    assert node["config"] == {
        "placement": {
            "partitionColocation": "t", "partitionExlocation": ["x", "y"], "partitionIsolation": True, "hostPool": "p",
        },
        "threadedPort": [{"port": 0, "congestionPolicy": "Sys.DropLast", "queueSize": "${width}"}],
        "restartable": False, "visibility": "read_uncommitted",
    }  # fmt: skip


def test_ports_streams_that_are_made_later_and_declared_operators():
    app = Application("a", description="a loop")
    app.declare("Merge", "shop:Merge", inputs=[{}, {"control": True}], single_threaded="Never")
    merged = app.stream(use("Merge", speed=1), port("Src"), port("back", name="again", control=True), schema="n int")
    app.stream(op.Beacon(), schema="n int", name="Src", rate=5.0, uid="beacon", consistent=consistent(1))
    back = merged.filter("n > 0")
    assert back is not None
    assert spec_of(app)["operators"]["Merge"]["singleThreaded"] == "Never"
    assert spec_of(app)["graph"][0]["inputs"] == ["Src", {"streams": ["back"], "name": "again", "control": True}]
    assert spec_of(app)["graph"][1]["outputs"] == [{"stream": "Src", "schema": "n int", "rate": 5.0}]
    assert app.model().graph[1].uid == "beacon"


@pytest.mark.parametrize(
    ("schema", "ddl"),
    [
        ("a int", "a int"),
        (Reading, "sensor string NOT NULL, value double"),
        (
            Event,
            "number smallint NOT NULL, at timestamp, where struct<name: string, tags: array<string>> NOT NULL, "
            "counts map<string, bigint> NOT NULL",
        ),
        (
            pa.schema([pa.field("n", pa.int32(), nullable=False), ("x", pa.list_(pa.decimal128(5, 2)))]),
            "n int NOT NULL, x array<decimal(5, 2)>",
        ),
    ],
)
def test_tuple_types_are_written_as_ddl(schema: Any, ddl: str):
    assert ddl_of(schema) == ddl


@pytest.mark.parametrize("schema", [5, int, list[int], pa.int64(), pa.schema([("x", pa.duration("s"))])])
def test_a_schema_that_is_no_tuple_type_is_refused(schema: Any):
    with pytest.raises((TypeError, ValueError), match="type"):
        ddl_of(schema)


def test_a_class_is_declared_under_its_name():
    app = Application("a")
    readings(app).to_files("x")
    assert spec_of(app)["schemas"] == {"Reading": "sensor string NOT NULL, value double"}


def test_errors_name_the_line_of_python():
    app = Application("a")
    stream = readings(app)
    stream.filter("value > 0", name="Twice")
    stream.filter("value > 1", name="Twice")
    with pytest.raises(ApplicationError) as raised:
        app.compile()
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    second = next(number for number, line in enumerate(lines, 1) if 'value > 1", name="Twice"' in line)
    codes = {each.code: each.location for each in raised.value.diagnostics}
    assert codes["SO0103"] == f"{__file__}:{second}"


def test_a_notebook_shows_the_graph_or_what_is_wrong():
    app = Application("a")
    stream = readings(app)
    assert "<svg" in app._repr_html_()
    stream.filter("valu > 0")
    app.stream(use("Nowhere"))
    assert "Nowhere" in app._repr_html_()


def test_a_spec_is_gone_on_with(tmp_path: Path):
    app = Application.from_spec(ROOT / "specs" / "flights.yaml")
    app["Departed"].filter("dep_delay > 0", name="Late").to_files("late")
    app["Statistics"].to_files("statistics")
    assert {"Late", "Statistics_FileSink"} <= {each.name for each in app.compile().physical.operators}
    for name in ("Results", "Nowhere", "Named"):  # a sink, nothing, a stream of a composite
        with pytest.raises(KeyError, match=f"flights has no stream {name}"):
            app[name]


def test_parallel_annotations_have_the_names_of_a_spec():
    assert parallel("${width}", replicate_host_tags=["t"]) == {"width": "${width}", "replicateHostTags": ["t"]}
