"""Applications whose files are in an object store: results are exact whatever it refuses, and nothing is left there."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.operators.storage.port import StorageAwayError
from streams_orchestration.operators.storage.remote import RemoteStorage
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.engine.spark import stages
from streams_orchestration.runtime.errors.errors import StorageSettingError
from streams_orchestration.runtime.hosts.segments_here import GarbageHere, streams_here
from streams_orchestration.runtime.observing.compilations import read_compilation_if_readable
from streams_orchestration.runtime.programs.deployed_pes import PlacedPe
from streams_orchestration.runtime.programs.stored_compilation import base_directory
from streams_orchestration.runtime.stepping import StepError
from streams_orchestration.runtime.storage import remote_store
from streams_orchestration.runtime.storage.directories import Directories, directories_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import HERE, Store
from streams_orchestration.runtime.tasks.instances import InstanceCache
from streams_orchestration.runtime.units.cut_files import check_and_record_cuts
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration.runtime.units.reading import open_catalog
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import (
    compiled,
    expected_of_network,
    network,
    node,
    published,
    rows,
    sink,
    source,
    write_rows,
)
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.ordeals import ACTIONS, COUNT, Ordeal
from streams_orchestration_tests.runtime.sinks.letters import Letters, letters
from streams_orchestration_tests.runtime.stored import store_in
from streams_orchestration_tests.servers.s3 import BUCKET, S3

pytestmark = [
    pytest.mark.usefixtures("no_hosts"),
    pytest.mark.parametrize("s3", ["moto"], indirect=True),
]


@pytest.fixture
def directory(s3: S3, states_as_changes: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the place of the files in the bucket; a storage that is away is not waited for."""
    monkeypatch.setattr(remote_store, "RETRY_SECONDS", 0.0)
    yield store_in(s3, monkeypatch)


@pytest.fixture(scope="module")
def compilation(tmp_path_factory: pytest.TempPathFactory) -> PlannedCompilation:
    return network(tmp_path_factory.mktemp("network"), COUNT, fusion="manual", pes=3)


def test_all_that_the_catalog_names_is_in_the_bucket_and_goes_when_it_is_not_needed(
    s3: S3, directory: str, compilation: PlannedCompilation, tmp_path: Path
):
    ordeal = Ordeal(Home(tmp_path), compilation)
    for number in range(4):
        ordeal.turn(number)
    names = s3.names(f"{directory}/data")
    kinds = {name.removeprefix(f"{directory}/data/{ordeal.local.name}/").split("/")[0] for name in names}
    assert kinds == {"streams", "states", "waiting"}
    assert not [path for kind in kinds for path in (ordeal.local.home.data(ordeal.local.name) / kind).rglob("*")]
    ordeal.finish()
    assert ordeal.results() == expected_of_network(COUNT)
    assert ordeal.left() == []
    assert [name for name in s3.names(directory) if "/states/" not in name] == [f"{directory}/installation"]


class Machines(LocalApplication):
    """The tasks of every PE run on a machine of their own, with a state directory that no other one sees."""

    def _directories(self, program: PeProgram) -> Directories:
        home = Home(self.home.root.with_name(f"machine-{program.pe}"))
        return directories_of(home, self.name, program.pe, str(base_directory(self.compilation)))


@pytest.mark.parametrize("target", ["results", "an address", "epochs"])
def test_machines_share_nothing_but_the_catalog_and_the_storage(s3: S3, directory: str, tmp_path: Path, target: str):
    place = f"s3://{BUCKET}/{directory}/out"
    parameters = {"file": place, "storage": s3.storage} if target == "an address" else {"file": "out"}
    graph = [source("Rows", write_rows(tmp_path / "rows.parquet", COUNT)), sink("Out", "Rows", parameters=parameters)]
    if target == "epochs":
        written = {"operator": f"{Letters.__module__}:Letters", "parameters": {"place": str(tmp_path)}}
        graph[1] = {"name": "Out", "inputs": ["Rows"], "outputs": []} | written
    graph[1]["config"] = {"placement": {"partitionIsolation": True}}
    local = Machines(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=2), 4)
    local.run()
    assert len(local.programs) == 2
    if target == "an address":
        names = s3.names(f"{directory}/out")
        tables = [pq.read_table(io.BytesIO(s3.content(name))) for name in names]
        assert sorted((row["k"], row["n"]) for table in tables for row in table.to_pylist()) == sorted(rows(COUNT))
    elif target == "results":
        assert published(local.published("out")) == sorted(rows(COUNT))
    else:
        assert sorted(row for _, batch in letters(tmp_path) for row in batch) == sorted(rows(COUNT))
    collect_garbage(local.catalog, local.name, local.programs)
    assert not [name for name in s3.names(f"{directory}/data") if "/states/" not in name]
    left = [
        path for path in tmp_path.rglob("*") if path.is_file() and "machine-" in str(path) and path.suffix != ".log"
    ]
    assert left == []


EVENTS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 99)), max_size=40)


@pytest.mark.deep
@given(events=EVENTS)
@examples(17)
def test_nothing_is_lost_and_nothing_is_doubled(
    directory: str, compilation: PlannedCompilation, events: list[tuple[str, int]]
):
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMS_STORAGE", f"s3://bucket/{directory}/{Path(home).name}")
        ordeal = Ordeal(Home(Path(home)), compilation)
        for action, number in events:
            getattr(ordeal, action)(number)
            ordeal.check()
        ordeal.finish()
        assert ordeal.results() == expected_of_network(COUNT)
        assert ordeal.left() == []


class Fault:
    """The n-th request of a kind fails; of a put that timed out the file may be there all the same."""

    def __init__(self, patch: pytest.MonkeyPatch, number: int, *, arrives: bool) -> None:
        self.left, self.happened, self.arrives = number, False, arrives
        patch.setattr(RemoteStorage, "put", self._failing(RemoteStorage.put))

    def _failing(self, put: Callable[..., None]) -> Callable[..., None]:
        def call(storage: RemoteStorage, place: str, data: Any) -> None:
            self.left -= 1
            if self.left == 0:
                self.happened = True
                if self.arrives:
                    put(storage, place, data)
                message = f"{place}: cannot be reached: timed out"
                raise StorageAwayError(message)
            put(storage, place, data)

        return call


@pytest.mark.parametrize("arrives", [False, True], ids=["fails", "times out"])
@pytest.mark.parametrize("number", [2, *(pytest.param(number, marks=pytest.mark.deep) for number in (1, 5, 9, 14, 23))])
def test_a_put_that_fails_resets_the_unit_and_changes_no_result(
    directory: str, compilation: PlannedCompilation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int,
    arrives: bool,
):  # fmt: skip
    ordeal = Ordeal(Home(tmp_path), compilation)
    local, fault = ordeal.local, Fault(monkeypatch, number, arrives=arrives)
    turn = 0
    while not fault.happened:
        try:
            ordeal.turn(turn)
            if turn % 3 == 2:
                ordeal.trigger(0)
        except StepError as error:
            assert "cannot be reached: timed out. Check that it can be reached" in str(error)
            for unit in local.units:
                reset_unit(local.catalog, local.name, unit, force=True)
            stages.INSTANCES = InstanceCache()
        turn += 1
    ordeal.finish()
    assert ordeal.results() == expected_of_network(COUNT)
    assert ordeal.left() == []


@pytest.mark.usefixtures("one_attempt")
def test_a_storage_that_is_away_has_lost_no_cut_and_one_that_lost_a_file_has(
    s3: S3, directory: str, compilation: PlannedCompilation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    local = LocalApplication(Home(tmp_path), compilation, source_limit=5)
    for _ in range(4):
        for program in local.programs:
            local.step(program)
        local.trigger()
    with monkeypatch.context() as patch:
        patch.setenv("STREAMS_STORAGE_OPTIONS", "endpoint=http://127.0.0.1:9 region=us-east-1 anonymous=True")
        assert check_and_record_cuts(local.catalog, local.name) == {}
    for name in s3.names(directory):
        s3.system().delete_file(f"bucket/{name}")
    lost = check_and_record_cuts(local.catalog, local.name)
    assert lost and all(f"s3://bucket/{directory}/data/" in message for message in lost.values())


def test_a_process_that_names_another_storage_is_refused(
    directory: str, compilation: PlannedCompilation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    local = LocalApplication(Home(tmp_path), compilation, source_limit=5)
    monkeypatch.delenv("STREAMS_STORAGE_OPTIONS")
    monkeypatch.delenv("STREAMS_STORAGE")
    with pytest.raises(StorageSettingError, match=f"STREAMS_STORAGE is not set, .* are in s3://bucket/{directory}"):
        open_catalog(local.home, local.name)
    assert read_compilation_if_readable(Catalog(local.home), local.name) is None, "a display does without it"
    monkeypatch.setenv("STREAMS_STORAGE", str(tmp_path / "other"))
    with pytest.raises(StorageSettingError, match=r"names .*/other, but the catalog's files .* Set it to s3://"):
        LocalApplication(Home(tmp_path), compilation, source_limit=5)


class OneHost(LocalApplication):
    """All PEs are on one host, which keeps what nobody else reads."""

    def _directories(self, program: PeProgram) -> Directories:
        here = streams_here(program, [PlacedPe(each, 0) for each in self.programs])
        return directories_of(self.home, self.name, program.pe, str(base_directory(self.compilation)), here=here)


@pytest.fixture
def one_host(directory: str, tmp_path: Path) -> OneHost:
    graph = [
        source("Rows", write_rows(tmp_path / "rows.parquet", COUNT)),
        node("Same", "Filter", "Rows") | {"config": {"placement": {"partitionIsolation": True}}},
        sink("Out", "Same"),
    ]
    return OneHost(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=2), 4)


def streams(local: LocalApplication) -> list[str]:
    return local.home.store.below(f"data/{local.name}/streams")


def test_streams_of_a_single_host_stay_on_its_machine_and_a_reset_makes_them_again(one_host: OneHost):
    local, (first, *_) = one_host, one_host.programs
    local.step(first)
    assert streams(local) and all(address.startswith(HERE) for address in streams(local))
    for address in streams(local):
        local.home.store.remove(address)  # the host comes to another machine
    with pytest.raises(StepError, match="cannot be read: No such file"):
        for program in local.programs[1:]:
            local.step(program)
    assert check_and_record_cuts(local.catalog, local.name) == {}, "no cut needs it"
    reset_unit(local.catalog, local.name, "region-0", force=True)
    stages.INSTANCES = InstanceCache()
    local.run()
    assert published(local.published("Out")) == sorted(rows(COUNT))


def test_files_that_another_machine_collects_are_removed_on_their_own_machine(one_host: OneHost, tmp_path: Path):
    local, other = one_host, Catalog(Home(tmp_path / "home"))
    garbage = GarbageHere(local.catalog, local.name, [program.pe for program in local.programs])
    gone = 0
    for _ in range(6):
        for program in local.programs:
            local.step(program)
        local.trigger()
        with pytest.MonkeyPatch.context() as patch:  # nothing of this machine is seen from there
            patch.setattr(Store, "remove", lambda *_: None)
            collect_garbage(other, local.name, local.programs)
        gone += garbage.collect()
    assert gone > 0
    local.run()
    assert published(local.published("Out")) == sorted(rows(COUNT))
