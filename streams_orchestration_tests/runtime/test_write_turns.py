"""The guard of the catalog's write lock itself: it prevents, and reports, what others would wait for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import select

from streams_orchestration.operators.storage.durable_files import write_whole
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.outage import Outage
from streams_orchestration.runtime.errors.errors import CatalogLostError
from streams_orchestration.runtime.processes.processes import is_alive, kill, process_started
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.storage.stores import store_at
from streams_orchestration_tests import write_turns
from streams_orchestration_tests.write_turns import UnderWriteLockError


@dataclass(frozen=True)
class Place:
    home: Home
    elsewhere: Store
    """In an object store that nobody is asked for."""
    child: int
    """A process that does nothing."""

    @property
    def file(self) -> str:
        return "data/app/file"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    home = Home(tmp_path / "home")
    create_catalog(home).close()
    home.store.write("data/app/file", b"here")
    elsewhere = store_at(home.root, "s3://bucket/data", "")
    write_turns.watch_stores()
    child = subprocess.Popen(["sleep", "600"])
    yield Place(home, elsewhere, child.pid)
    child.kill()
    child.wait()
    write_turns.found()  # the faults that the test made do not fail it


def requested(place: Place) -> object:
    return place.elsewhere.size("data/app/file")


CALLS: dict[str, Callable[[Place], object]] = {
    "writing a file": lambda place: write_whole(place.home.root / "other", "text"),
    "reading a file": lambda place: place.home.store.read(place.file),
    "checking a file": lambda place: place.home.store.size(place.file),
    "removing a file": lambda place: place.home.store.remove(place.file),
    "listing a directory": lambda place: place.home.store.below("data"),
    "making a directory": lambda place: place.home.prepare(),
    "a request to an object store": requested,
    "ending a process": lambda place: kill(place.child, process_started(place.child)),
    "waiting": lambda place: Outage().wait_or_raise(CatalogLostError(place.home.root, "away")),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("mode", ["write", "write_unit", "note"])
def test_calls_that_may_wait_are_prevented_and_reported_under_the_write_lock(place: Place, call: str, mode: str):
    catalog = Catalog(place.home)
    transaction = catalog.write_unit("app", "u") if mode == "write_unit" else getattr(catalog, mode)()
    with pytest.raises(UnderWriteLockError, match="under the catalog's write lock"), transaction:
        CALLS[call](place)
    assert write_turns.found()
    assert place.home.store.read(place.file) == b"here"
    assert is_alive(place.child, process_started(place.child))


@pytest.mark.parametrize("call", [name for name in CALLS if name != "a request to an object store"])
def test_before_and_after_and_where_only_is_read_all_may_be_done(place: Place, call: str):
    catalog = Catalog(place.home)
    with catalog.write() as connection:
        connection.execute(select(tables.host)).all()
    with catalog.read():
        CALLS[call](place)
    assert write_turns.found() == []


def test_a_test_may_do_as_it_likes_in_a_transaction_of_its_own(place: Place):
    with Catalog(place.home).write():
        assert (place.home.root / "data" / "app" / "file").read_bytes() == b"here"
    assert write_turns.found() == []


IN_A_PROCESS = """
import sys
from pathlib import Path
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.storage.home import Home

home = Home(Path(sys.argv[1]))
with Catalog(home).write():
    if sys.argv[2:]:
        home.store.size("data/app/file")
"""


@pytest.mark.slow
@pytest.mark.parametrize("checks", [True, False])
def test_a_process_that_a_test_starts_is_watched(place: Place, checks: bool):
    command = [sys.executable, "-c", IN_A_PROCESS, str(place.home.root), *["check"] * checks]
    subprocess.run(command, check=True)  # it is not prevented, so that all of them are found
    found = write_turns.found()
    assert all("Path.stat" in line and "runtime/storage/" in line for line in found), found
    assert bool(found) is checks


DEPLOYS = """
import sys
from pathlib import Path
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.runtime.rollout.deploying import deploy_plan
from streams_orchestration.runtime.deployment.requests import ContinueFromState
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.start_lock import lock_start
from streams_orchestration.runtime.storage.home import Home

catalog = Catalog(Home(Path(sys.argv[1])).prepare())
for _ in range(2):
    with lock_start(catalog.home, "app", "deploy") as lock:
        deploy_plan(catalog, lock, deployable(compile_spec(Path(sys.argv[2]))), ContinueFromState())
"""
SPEC = """
specVersion: 1
application: app
graph:
  - {name: In, operator: Beacon, outputs: [{stream: In, schema: "n bigint"}], parameters: {iterations: 3}}
  - {name: Out, operator: FileSink, inputs: [In], parameters: {file: out}}
"""


@pytest.mark.slow
def test_the_first_deployment_of_a_process_loads_nothing_under_the_lock(place: Place, tmp_path: Path):
    (tmp_path / "app.yaml").write_text(SPEC)
    command = [sys.executable, "-c", DEPLOYS, str(place.home.root), str(tmp_path / "app.yaml")]
    subprocess.run(command, check=True)
    assert write_turns.found() == []


def test_a_transaction_within_another_holds_the_lock_until_the_outer_one_ends(place: Place):
    catalog = Catalog(place.home)
    with pytest.raises(UnderWriteLockError), catalog.write():
        with catalog.read():
            pass
        place.home.store.read(place.file)
    write_turns.found()
