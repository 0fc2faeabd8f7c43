"""The flights application as a user runs it: real command and data, Spark, Dagster, and a host that is killed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import psutil
import pyarrow as pa
import pytest

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.model.assignment_document import mapping_of_assignment
from streams_orchestration.orchestration.instance import dagster_instance
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.observing.metrics_reading import read_metrics
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.commands import SPECS, TIMEOUT_SECONDS, finish, kill_host, streams, wait_for
from streams_orchestration_tests.compiler.assignments import assignment
from streams_orchestration_tests.flights import assert_same, expected_delays, past_the_cut, result_of
from streams_orchestration_tests.postgresql import Server

pytestmark = [pytest.mark.java, pytest.mark.usefixtures("no_host_stays")]


def assert_measured(home: Home, results: int) -> None:
    """Check that the file holds the counts of Spark's tasks, and that everything took time."""
    metrics = read_metrics(Catalog(home), "flights")
    operators = {operator.name: operator for operator in metrics.operators}
    assert operators["Flights"].outputs[0].tuples == 336_776
    assert sum(o.inputs[0].tuples for o in metrics.operators if o.name.endswith(".Named")) == 328_521
    assert all(operator.cpu_ns > 0 for operator in metrics.operators)
    read = [s.tuples for s in metrics.streams for r in s.readers if r.pe == operators["Results"].pe]
    assert sum(read) == results
    assert all((r.tuples, r.lag_segments) == (s.tuples, 0) for s in metrics.streams for r in s.readers)
    assert all(pe.plan_ns and pe.spark_ns > pe.work_ns > 0 for pe in metrics.pes)
    assert all(queue.wait_ns > 0 for queue in metrics.queues)


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    return expected_delays(tmp_path_factory.mktemp("raw"))


def assert_shown(home: Home, output: str) -> None:
    """Check that the command has shown the results and their places, and that Dagster has recorded each deployment."""
    assert "Endeavor Air Inc." in output
    assert str(home.results("flights") / "delays") in output
    assert str(home.logs("flights")) in output
    if "Dagster does not show the deployment of flights" in output:  # on a very busy machine
        return
    with dagster_instance(home) as instance:
        runs = instance.get_runs()
    assert {run.status for run in runs} == {dg.DagsterRunStatus.SUCCESS}
    assert any("deploy" in run.job_name for run in runs)


@pytest.mark.deep
def test_run_gives_what_an_independent_computation_gives_and_shows_in_dagster(tmp_path: Path, wanted: pa.Table) -> None:
    home = Home(tmp_path / "home")
    with streams(home, "run", str(SPECS / "flights.yaml")) as process:
        output = finish(process)
    assert_same(result_of(home), wanted)
    status = read_status(Catalog(home), "flights")
    assert status.state == "COMPLETED"
    assert [pe.row.rows_in for pe in status.pes] == [336_776, wanted.num_rows]
    assert_measured(home, wanted.num_rows)
    wait_for(home, lambda status: not any(host.alive for host in status.hosts))
    assert_shown(home, output)


@pytest.mark.deep
def test_a_killed_host_comes_back_and_the_result_is_that_of_an_undisturbed_run(
    tmp_path: Path, wanted: pa.Table
) -> None:
    home = Home(tmp_path / "home")
    with streams(home, "run", str(SPECS / "flights.yaml"), "--width", "PerCarrier=3", limit=12_000) as process:
        before = wait_for(home, past_the_cut)
        kill_host(before)
        after = wait_for(home, lambda status: status.units[0].generation > 1)
        assert after.units[0].row.attempts >= 1 or after.units[0].completed_epoch > before.units[0].completed_epoch
        output = finish(process)
    assert_reset(home, output)
    assert_same(result_of(home), wanted)
    assert read_status(Catalog(home), "flights").pes[0].row.rows_in == 336_776


def assert_reset(home: Home, output: str) -> None:
    """Assert that the failure was reported, and that all resets are successful runs of Dagster's or missing there."""
    assert "region-0 failed" in output
    if "Dagster does not show the reset of region-0" in output:  # on a very busy machine
        return
    with dagster_instance(home) as instance:
        resets = [run.status for run in instance.get_runs() if run.job_name == "flights__reset"]
    assert resets
    assert set(resets) == {dg.DagsterRunStatus.SUCCESS}


@pytest.mark.deep
def test_a_decoupled_application_gives_the_same_when_its_host_is_killed(tmp_path: Path, wanted: pa.Table) -> None:
    """One channel has a PE of its own, the other one has two: four parts of what was one PE, and the sink's."""
    home, spec = Home(tmp_path / "home"), SPECS / "flights.yaml"
    machines = {"PerCarrier[0].Named": 1, "PerCarrier[0].Statistics": 1, "PerCarrier[1].Named": 2}
    decision = assignment(compile_spec(spec), machines | {"PerCarrier[1].Statistics": 3})
    file = tmp_path / "decision.json"
    file.write_text(json.dumps(mapping_of_assignment(decision)))
    with streams(home, "run", str(spec), "--decoupling", str(file), limit=12_000) as process:
        kill_host(wait_for(home, past_the_cut))
        wait_for(home, lambda status: status.units[0].generation > 1)
        finish(process)
    assert_same(result_of(home), wanted)
    assert len(read_status(Catalog(home), "flights").pes) == 5


IMPLEMENTATION = "streams_orchestration.operators.enrich:Enrich"
WRONG = """\
from streams_orchestration.operators.enrich import Enrich


class Wrong(Enrich):
    def process(self, port, batch):
        raise ValueError("it was never tried")
"""


@pytest.mark.parametrize("measured", [False, pytest.param(True, marks=pytest.mark.deep)])
def test_plans_change_while_it_runs_and_the_result_is_the_same(
    tmp_path: Path, wanted: pa.Table, measured: bool
) -> None:
    """Width and PEs at once, by a decision made here.

    Or one after the other, by what was measured at the new width; then a plan that fails is taken back as well.
    """
    home, text = Home(tmp_path / "home"), (SPECS / "flights.yaml").read_text()

    def of_width(width: int) -> str:
        spec = tmp_path / "flights.yaml"
        spec.write_text(text.replace("default: 2}", f"default: {width}}}"))
        return str(spec)

    def redeployed(*decision: str) -> dict[str, Any]:
        with streams(home, "redeploy", of_width(3), *decision, "--format", "json") as process:
            output = finish(process)
        return json.loads(output[output.index("{") :])

    with streams(home, "deploy", of_width(2), limit=100) as process:  # minutes of work
        finish(process)
    before = wait_for(home, lambda status: status.pes[0].row.rows_in > 1_000)
    assert before.state == "RUNNING"
    if measured:
        document = redeployed()
        assert document["verdict"] == "kept"
        assert "resharded" in {operator["action"] for operator in document["operators"]}
        before = wait_for(home, lambda status: status.pes[0].row.rows_in > before.pes[0].row.rows_in)
        decision = decide(home, of_width(3), tmp_path)
    else:
        decision = parted(of_width(3), tmp_path / "decision.json")
    document = redeployed("--decoupling", str(decision))
    assert (document["verdict"], document["units"]) == ("kept", [{"unit": "region-0", "action": "restart"}])
    assert measured or "resharded" in {operator["action"] for operator in document["operators"]}
    after = wait_for(home, lambda status: status.pes[0].row.rows_in > before.pes[0].row.rows_in)
    assert len(after.pes) > len(before.pes)
    if measured:
        assert_taken_back(home, tmp_path, after)
    for command in (("cancel", "flights"), ("run", of_width(3), "--decoupling", str(decision))):  # without that limit
        with streams(home, *command) as process:
            output = finish(process)
    assert_same(result_of(home), wanted)
    status = read_status(Catalog(home), "flights")
    assert status.state == "COMPLETED"
    assert status.pes[0].row.rows_in == 336_776
    assert_measured(home, wanted.num_rows)
    wait_for(home, lambda status: not any(host.alive for host in status.hosts))
    assert_shown(home, output)


def assert_taken_back(home: Home, directory: Path, after: ApplicationStatus) -> None:
    """Check that the previous plan runs again behind one whose operator fails."""
    text = (SPECS / "flights.yaml").read_text()
    (directory / "wrong.py").write_text(WRONG)
    wrong = directory / "wrong.yaml"
    wrong.write_text(text.replace(IMPLEMENTATION, "wrong:Wrong"))
    failing = ("redeploy", str(wrong), "--decoupling", str(parted(str(wrong), directory / "failing.json")))
    with streams(home, *failing, "--format", "json") as process:
        output, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 1, output
    assert "the previous plan runs again" in output
    assert "ValueError: it was never tried" in json.loads(output[output.index("\n{\n") :])["reverted"]
    back = wait_for(home, lambda status: status.units[0].works and status.pes[0].row.rows_in > after.pes[0].row.rows_in)
    assert back.fingerprint == after.fingerprint


def parted(spec: str, decision: Path) -> Path:
    """Return a decision by which one channel has a PE of its own."""
    machines = {f"PerCarrier[0].{name}": 1 for name in ("Named", "Statistics")}
    decision.write_text(json.dumps(mapping_of_assignment(assignment(compile_spec(spec), machines))))
    return decision


def decide(home: Home, spec: str, directory: Path) -> Path:
    """Return the decision of `streams decouple` for the application that runs, by the profile of `streams profile`."""
    profile, decision = directory / "profile.yaml", directory / "decision.json"
    for command in (
        ("profile", "flights", "--seconds", "3", "--output", str(profile)),
        ("decouple", spec, "--profile", str(profile), "--pe", "0", "--format", "json", "--output", str(decision)),
    ):
        with streams(home, *command) as process:
            finish(process)
    return decision


@pytest.mark.deep
def test_a_clone_of_a_savepoint_runs_elsewhere_at_another_width_to_the_same_result(
    tmp_path: Path, wanted: pa.Table
) -> None:
    home, other, spec = Home(tmp_path / "home"), Home(tmp_path / "other"), str(SPECS / "flights.yaml")
    with streams(home, "deploy", spec, limit=100) as process:  # minutes of work
        finish(process)
    before = wait_for(home, lambda status: status.pes[0].row.rows_in > 1_000)
    with streams(home, "savepoint", "create", "flights", "before", "--format", "json") as process:
        output = finish(process)
    assert sum(state["rows"] for state in json.loads(output[output.index("{") :])["savepoint"]["states"]) > 0
    after = wait_for(home, lambda status: status.pes[0].row.rows_in > before.pes[0].row.rows_in + 1_000)
    assert {host.row.pid for host in after.hosts} == {host.row.pid for host in before.hosts}
    for command in (("savepoint", "export", "before", "exported"), ("cancel", "flights")):
        with streams(home, *command) as process:
            finish(process)
    clone = ("deploy", spec, "--from", "exported", "--name", "trial", "--width", "PerCarrier=3")
    with streams(other, *clone) as process:
        finish(process)
    wait_for(other, lambda status: status.state == "COMPLETED", "trial")
    assert_same(result_of(other, "trial"), wanted)


@pytest.mark.deep
def test_on_postgresql_neither_a_killed_host_nor_a_server_that_is_restarted_changes_the_result(
    tmp_path: Path, wanted: pa.Table, postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")
    password = "s3cret0815"
    address = postgresql.url("flights").replace("@", f":{password}@")
    monkeypatch.setenv("STREAMS_CATALOG", address)
    seen: set[str] = set()
    with streams(home, "run", str(SPECS / "flights.yaml"), "--width", "PerCarrier=3", limit=12_000) as process:
        kill_host(wait_for(home, past_the_cut))
        wait_for(home, lambda status: status.units[0].generation > 1 and past_the_cut(status))
        seen |= {argument for each in psutil.process_iter(["cmdline"]) for argument in each.info["cmdline"] or ()}
        postgresql.stop()
        postgresql.start()
        output = finish(process)
    assert_reset(home, output)
    assert_same(result_of(home), wanted)
    status = read_status(Catalog(home), "flights")
    assert status.pes[0].row.rows_in == 336_776
    assert not home.catalog.exists()
    assert password not in output
    assert not any(password in argument for argument in seen)
    assert not [path for path in home.root.rglob("*") if path.is_file() and password.encode() in path.read_bytes()]
