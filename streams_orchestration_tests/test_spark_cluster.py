"""Hosts on a standalone Spark cluster: the same results as on one machine, also when executors are killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.commands import SPECS, finish, streams, wait_for
from streams_orchestration_tests.flights import assert_same, expected_delays, past_the_cut, result_of, table_of
from streams_orchestration_tests.machines.namespaces import Machine, address_of_servers, routes, why_not
from streams_orchestration_tests.servers.jars import free_port
from streams_orchestration_tests.servers.spark import Cluster, cluster

pytestmark = [pytest.mark.java, pytest.mark.deep, pytest.mark.usefixtures("no_host_stays")]
COUNT, KEYS = 16_000, 97
KEYED = f"""\
specVersion: 1
application: keyed
schemas: {{Row: "n bigint, key bigint", Sum: "key bigint, total bigint"}}
graph:
  - name: Made
    operator: Beacon
    outputs: [{{stream: Made, schema: Row}}]
    parameters: {{iterations: {COUNT}, output: {{n: IterationCount(), key: IterationCount() % {KEYS}}}}}
    annotations: {{consistent: {{trigger: periodic, period: 0.5}}}}
  - name: Sums
    operator: Aggregate
    inputs: [Made]
    outputs: [{{stream: Sums, schema: Sum}}]
    parameters: {{window: "tumbling, punct()", groupBy: [key], output: {{total: Sum(n)}}}}
    annotations: {{parallel: {{width: 3, partitionBy: [{{port: Made, attributes: [key]}}]}}}}
  - {{name: Out, operator: FileSink, inputs: [Sums], parameters: {{file: sums}}}}
"""


STANDS_STILL = f"""\
specVersion: 1
application: keyed
schemas: {{Row: "n bigint"}}
operators:
  Stands: {{implementation: "stands:Stands", inputs: [{{}}], outputs: [{{}}]}}
graph:
  - name: Made
    operator: Beacon
    outputs: [{{stream: Made, schema: Row}}]
    parameters: {{iterations: {COUNT}, output: {{n: IterationCount()}}}}
    annotations: {{consistent: {{trigger: periodic, period: 0.5}}}}
  - {{name: Passed, operator: Stands, inputs: [Made], outputs: [{{stream: Passed, schema: Row}}]}}
  - {{name: Out, operator: FileSink, inputs: [Passed], parameters: {{file: out}}}}
"""
OPERATOR = """
import threading
from pathlib import Path
from streams_orchestration.operators import Operator

class Stands(Operator):
    def process(self, port, batch):
        once = Path(__file__).with_name("stood")
        if not once.exists():
            once.touch()
            threading.Event().wait()
        self.submit(batch)
"""


@pytest.fixture
def two_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with cluster(tmp_path, workers=2) as made:
        monkeypatch.setenv("STREAMS_MASTER", made.address)
        monkeypatch.setenv("STREAMS_SPARK_CONF", str(made.conf))
        yield made


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    return expected_delays(tmp_path_factory.mktemp("raw"))


def test_flights_are_those_of_one_machine_also_when_executors_are_killed(
    tmp_path: Path, wanted: pa.Table, two_workers: Cluster
):
    home = Home(tmp_path / "home")
    with streams(home, "run", str(SPECS / "flights.yaml"), "--width", "PerCarrier=3", limit=12_000) as process:
        for kill in range(2):
            before = wait_for(home, past_the_cut)
            two_workers.kill_executor(kill)
            wait_for(home, lambda status, before=before: status.pes[0].row.epoch > before.pes[0].row.epoch + 1)
        finish(process)
    assert_same(result_of(home), wanted)
    assert read_status(Catalog(home), "flights").pes[0].row.rows_in == 336_776


def test_keyed_sums_are_exact_when_every_executor_is_killed_in_turn(tmp_path: Path, two_workers: Cluster):
    home, spec = Home(tmp_path / "home"), tmp_path / "keyed.yaml"
    spec.write_text(KEYED)
    with streams(home, "run", str(spec), limit=400) as process:
        for kill in range(4):
            before = wait_for(home, lambda status: status.units[0].completed_epoch > 0, "keyed")
            two_workers.kill_executor(kill)
            goes_on = before.units[0].completed_epoch + 1
            wait_for(home, lambda status, epoch=goes_on: status.units[0].completed_epoch > epoch, "keyed")
        finish(process)
    (sums,) = table_of(
        f"SELECT sum(total), count(*) FROM read_parquet('{home.results('keyed')}/sums/part-*.parquet')"
    ).to_pylist()
    assert list(sums.values()) == [sum(range(COUNT)), KEYS]


def test_an_operator_that_stands_still_in_an_executor_is_one_reset(
    tmp_path: Path, two_workers: Cluster, monkeypatch: pytest.MonkeyPatch
):
    home, spec = Home(tmp_path / "home"), tmp_path / "keyed.yaml"
    spec.write_text(STANDS_STILL)
    (tmp_path / "stands.py").write_text(OPERATOR)
    monkeypatch.setenv("STREAMS_HANG_LIMIT", "5")
    with streams(home, "run", str(spec)) as process:
        finish(process)
    assert (tmp_path / "stood").exists()
    assert read_status(Catalog(home), "keyed").units[0].row.reset_count == 1
    (sums,) = table_of(
        f"SELECT sum(n), count(*) FROM read_parquet('{home.results('keyed')}/out/part-*.parquet')"
    ).to_pylist()
    assert list(sums.values()) == [sum(range(COUNT)), COUNT]


def test_an_executor_that_hangs_is_one_reset_although_its_python_lives_on(tmp_path: Path, two_workers: Cluster):
    home, spec = Home(tmp_path / "home"), tmp_path / "keyed.yaml"
    spec.write_text(KEYED.replace(f"iterations: {COUNT}", "period: 0.02"))
    with streams(home, "run", str(spec)):
        before = wait_for(home, lambda status: status.units[0].completed_epoch > 3, "keyed").units[0]
        hung = two_workers.executors()[0]
        pythons = hung.children(recursive=True)
        for process in (hung, psutil.Process(hung.ppid())):  # and who would kill it
            process.suspend()
        reset = wait_for(
            home,
            lambda status: status.units[0].row.reset_count > before.row.reset_count and status.units[0].works,
            "keyed",
        ).units[0]
        wait_for(home, lambda status: status.units[0].completed_epoch > reset.completed_epoch + 5, "keyed")
        registers = home.data("keyed").glob(f"spark/pe-0-g{reset.generation}-*/owners/*-*")
        owners = {int(register.read_text().partition("/streams-")[2].partition("-")[0]) for register in registers}
        assert owners
        assert not owners & {python.pid for python in pythons}
        for process in (*pythons, hung):
            process.kill()
        wait_for(home, lambda status: status.units[0].completed_epoch > reset.completed_epoch + 20, "keyed")
        assert read_status(Catalog(home), "keyed").units[0].row.reset_count == before.row.reset_count + 1
        with streams(home, "cancel", "keyed") as cancelling:
            finish(cancelling)


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[list[Machine]]:
    """Two, with networks of their own."""
    made = [Machine(name, {}, tmp_path / f"{name}.log") for name in ("a", "b")]
    try:
        for machine in made:
            machine.connect()
        yield made
    finally:
        for machine in made:
            machine.disconnect()


@pytest.mark.skipif(bool(why_not()), reason=str(why_not()))
def test_a_machine_whose_executor_is_killed_and_one_that_is_cut_off_change_nothing(
    tmp_path: Path, wanted: pa.Table, machines: list[Machine], monkeypatch: pytest.MonkeyPatch
):
    home, conf = Home(tmp_path / "home"), tmp_path / "spark.conf"
    with routes(), address_of_servers() as address, cluster(tmp_path, workers=0, host=address) as apart:
        for machine in machines:
            apart.add_worker(machine.address, machine.command)
        conf.write_text(f"{apart.properties}spark.driver.host {address}\n")
        monkeypatch.setenv("STREAMS_SPARK_CONF", str(conf))
        monkeypatch.setenv("STREAMS_MASTER", apart.address)
        with streams(home, "run", str(SPECS / "flights.yaml"), "--width", "PerCarrier=3", limit=4_000) as process:
            before = wait_for(home, past_the_cut)
            apart.kill_executor(0)
            wait_for(home, lambda status: status.units[0].completed_epoch > before.units[0].completed_epoch + 1)
            machines[1].cut()
            generation = read_status(Catalog(home), "flights").units[0].generation
            wait_for(home, lambda status: status.state == "COMPLETED" or status.units[0].generation > generation)
            machines[1].heal()
            finish(process)
    assert read_status(Catalog(home), "flights").units[0].generation <= generation + 1
    assert_same(result_of(home), wanted)
    assert read_status(Catalog(home), "flights").pes[0].row.rows_in == 336_776


def test_a_cluster_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home, address = Home(tmp_path / "home"), f"spark://127.0.0.1:{free_port()}"
    conf = tmp_path / "spark.conf"
    conf.write_text("spark.authenticate.secret planted\n")
    monkeypatch.setenv("STREAMS_MASTER", address)
    monkeypatch.setenv("STREAMS_SPARK_CONF", str(conf))
    with streams(home, "run", str(SPECS / "flights.yaml")) as process:
        status = wait_for(home, lambda status: status.hosts[0].state == "FAILED")
    assert status.hosts[0].error is not None
    assert f"no Spark application could be started on {address}" in status.hosts[0].error
    with streams(home, "cancel", "flights") as process:
        finish(process)
