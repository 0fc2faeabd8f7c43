"""Benchmarks compare programs that do the same work, and their verdicts are those of their figures."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from benchmarks import __main__ as command
from benchmarks import copies, flights, soak
from benchmarks import kafka as kafka_benchmark
from benchmarks.__main__ import NAMES, OTHERS, measure
from benchmarks.harness import Row, table
from benchmarks.peers import pyarrow_loop
from benchmarks.peers.answer import steady
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.operators.loading.libraries import compute
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.servers.kafka import Broker

ONLY_CSV = pytest.mark.parametrize("data", ["csv"], indirect=True, scope="module")


@pytest.fixture(scope="module", params=["csv", "parquet"])
def data(request: pytest.FixtureRequest) -> Iterator[flights.Data]:
    """Every 500th flight, twice."""
    with TemporaryDirectory() as directory:
        yield flights.Data(Path(directory), request.param, copies=2, every=500)


@pytest.fixture(scope="module")
def expected(data: flights.Data) -> pa.Table:
    result, points = pyarrow_loop.statistics(data.file, data.airlines, threads=False)
    assert points[-1][1] == data.tuples == 2 * 674
    return result


@pytest.mark.slow
def test_the_loop_gives_the_product_s_result(data: flights.Data, expected: pa.Table, tmp_path: Path):
    text = flights.SPEC.read_text().replace(flights.SOURCE, str(data.file))
    document = yaml.safe_load(text.replace("format: csv", f"format: {data.format}"))
    compilation = compile_application(application_from_mapping(document), Options())
    application = LocalApplication(Home(tmp_path / "home"), compilation)
    application.run()
    product = pa.concat_tables([pq.read_table(file) for file in application.published("delays")])
    flights.check({"product": product, "loop": expected})


@pytest.mark.skipif(find_spec("bytewax") is None, reason="Bytewax comes with make bench, where it has a wheel")
@ONLY_CSV
@pytest.mark.parametrize("tuned", [False, True], ids=["documented", "tuned"])
def test_bytewax_gives_the_loop_s_result(data: flights.Data, expected: pa.Table, tmp_path: Path, tuned: bool):
    source = data.parts if tuned else data.file
    result = tmp_path / "result.parquet"
    arguments = (str(source), str(data.airlines), str(result), str(data.tuples), "1")
    import_module("benchmarks.peers.bytewax_flow").lead(*arguments)
    flights.check({"loop": expected, "Bytewax": pq.read_table(result)})


@ONLY_CSV
@pytest.mark.java
@pytest.mark.deep
@pytest.mark.parametrize("how", ["arrow", "sql"])
def test_spark_gives_the_loop_s_result(data: flights.Data, expected: pa.Table, tmp_path: Path, how: str):
    run = flights.peer("spark_query", how, str(data.parts), str(data.airlines), "RESULT", str(data.tuples))
    _, steady, result = run(tmp_path)
    assert steady > 0
    flights.check({"loop": expected, how: result})


@pytest.mark.java
def test_clicks_have_their_size_and_the_product_s_totals_are_those_of_a_loop(tmp_path: Path, kafka: Broker):
    made = [json.loads(value) for value in kafka_benchmark.values(500)]
    assert {len(value) for value in kafka_benchmark.values(500)} == {kafka_benchmark.MESSAGE_BYTES}
    totals: dict[tuple[str, int], tuple[int, float, int]] = {}
    for click in made:
        if not click["robot"]:
            key, time = (click["page"], click["at"] // 60_000), click["milliseconds"]
            count, seconds, longest = totals.get(key, (0, 0.0, 0))
            totals[key] = count + 1, round(seconds + time / 1000, 3), max(longest, time)
    source, target = kafka.topic(kafka_benchmark.PARTITIONS), kafka.topic(kafka_benchmark.PARTITIONS)
    kafka.send(source, kafka_benchmark.values(500))
    document = kafka_benchmark.spec(kafka.address, source, target)
    options = Options(fusion="manual", pes=1)
    LocalApplication(Home(tmp_path), compile_application(application_from_mapping(document), options)).run()
    assert kafka_benchmark.read(kafka, target)[0] == totals


def test_results_that_differ_are_found(expected: pa.Table):
    flights.check({"one": expected, "shuffled": expected.take(list(reversed(range(len(expected)))))})
    changed = expected.set_column(3, "flights", compute.add(expected["flights"], 1))
    for other in (expected.slice(1), changed):
        with pytest.raises(AssertionError, match="one and other differ"):
            flights.check({"one": expected, "other": other})


def test_copying_always_changes_nothing_but_the_copies(tmp_path: Path):
    plans = {"planned": copies.planned(), "always": copies.always(copies.planned())}
    (made, seen), (many, too) = (copies.batch(tmp_path / name, plan)() for name, plan in plans.items())
    assert seen == too
    assert (made, many) == (0, copies.BATCHES * (copies.READERS + 1))


@pytest.mark.parametrize(
    ("points", "speed"),
    [
        pytest.param([(10.0, 0), (12.0, 100)], 50.0, id="no start-up: from the start"),
        pytest.param([(0.0, 10), (8.0, 20), (9.0, 60), (10.0, 100)], 40.0, id="from the first fifth"),
        pytest.param([(0.0, 20), (1.0, 100), (5.0, 100)], 80.0, id="to the last tuple"),
    ],
)
def test_throughput_is_that_behind_the_start_up(points: list[tuple[float, int]], speed: float):
    assert steady(points) == speed


@pytest.mark.parametrize(
    ("row", "wanted", "verdict"),
    [
        (Row("", 3.0, "s", 1.0, 3.0), "<= 3", "met"),
        (Row("", 3.1, "s", 1.0, 3.0), "<= 3", "missed"),
        (Row("", 3.0, "/s", 1.0, 3.0, at_least=True), ">= 3", "met"),
        (Row("", 2.9, "/s", 1.0, 3.0, at_least=True), ">= 3", "missed"),
        (Row("", 2.0, "s", 1.0), "", ""),
    ],
)
def test_a_row_tells_its_target_and_whether_it_was_met(row: Row, wanted: str, verdict: str):
    assert (row.wanted, row.verdict) == (wanted, verdict)
    assert table([row]).splitlines()[1].endswith(verdict or f"{row.ratio:.3f}")


def test_a_benchmark_that_fails_takes_nothing_from_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    seen: list[str | None] = []

    def rows(*, quick: bool) -> list[Row]:
        seen.append(os.environ.get("STREAMS_CATALOG"))
        os.environ["STREAMS_CATALOG"] = "postgresql://gone"
        if len(seen) == 2:
            raise OSError
        return [Row(f"figure {len(seen)}", 1.0, "s", 1.0)]

    monkeypatch.delenv("STREAMS_CATALOG", raising=False)
    monkeypatch.setattr(command, "import_module", lambda _: SimpleNamespace(rows=rows))
    assert measure(["first", "second", "third"], quick=True) == ["second"]
    assert seen == [None, None, None]
    out = capsys.readouterr().out
    assert "figure 1" in out
    assert "figure 3" in out


def test_every_benchmark_has_rows():
    assert all(callable(import_module(f"benchmarks.{name}").rows) for name in (*NAMES, *OTHERS))


def test_a_curve_of_memory_or_disk_starts_from_zero():
    assert soak.spark_line([0.0, 50.0, 100.0], width=3) == "▁▅█"
    samples = [soak.Sample(second, 1.0, 2.0, 3.0, 0.5) for second in (0.0, 60.0)]
    assert soak.picture(samples, soak.MEMORY).count("<polyline") == 4
    assert soak.picture(samples, soak.DISK).count("<polyline") == 1
