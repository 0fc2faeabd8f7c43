"""The catalog is lost at every statement and commit of what works on it; afterwards it is as if nothing had been."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import select

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime import stepping
from streams_orchestration.runtime.catalog import outage, tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import CatalogLostError
from streams_orchestration.runtime.programs.batches import BatchPlan
from streams_orchestration.runtime.queries import planner as reader
from streams_orchestration.runtime.queries.views import read_view
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration_tests.postgresql import Server
from streams_orchestration_tests.runtime import applications
from streams_orchestration_tests.runtime.applications import expected_of_network, network, published
from streams_orchestration_tests.runtime.faults import Fault, Faults, injected
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.planned import PlannedPe

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

COUNT = 20
LOST = "there", "no route to it"
TIMES = {
    "life",
    "token",
    "deployed_at",
    "started_at",
    "committed_at",
    "completed_at",
    "busy_seconds",
    "since",
    "at",
    "sampled_at",
}
TIMES |= {"sampled_at", "delivered_at", "deadline", "began_at", "outage", "drains", "resets", "seconds"} | {
    "tries",
    "give_up_at",
    "kind",
}
"""Columns that differ between any two runs."""
RANDOM = re.compile(r"[0-9a-f]{32}|-[0-9a-f]{8}(?=[.])|'checksum': \d+")
"""In names of files, and what depends on such."""
STEPPED = ("commit_batch", "publish", "complete", "read_view", "advance_units_and_trial")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "PAUSES", Pauses(0.0, 0.0))
    # no epoch ends by itself, however long a run takes
    monkeypatch.setitem(applications.PERIODIC["consistent"], "period", 1e6)


@pytest.fixture
def server(request: pytest.FixtureRequest, database: str) -> Server | None:
    return request.getfixturevalue("postgresql") if database == "postgresql" else None


class Tokened(LocalApplication):
    """Its batches can be recognised, as those of a planner."""

    def plan(self, program: PeProgram) -> BatchPlan | None:
        plan = super().plan(program)
        return replace(plan, token=uuid4().hex) if plan is not None else None


def content(home: Home, name: str) -> dict[str, list[Any]]:
    """Return all that the catalog says, but for what is new in every run."""
    with Catalog(home).read() as connection:
        return {
            table.name: sorted(
                RANDOM.sub("", repr({key: value for key, value in row._mapping.items() if key not in TIMES})).replace(
                    str(home.root), ""
                )
                for row in connection.execute(select(table))
            )
            for table in tables.metadata.sorted_tables
            if table not in (tables.pe_metrics, tables.metrics_sample)
        }


def run(home: Home, compilation: PlannedCompilation, through: Callable[[str, Callable[[], Any]], Any]) -> list[Any]:
    """Return an application with resets and garbage collections; what the catalog says after every turn."""
    local = Tokened(home, compilation, source_limit=3)
    contents: list[Any] = []
    for turn in range(1, 200):
        for program in local.programs:
            local.step(program)
        if turn % 3 == 0:
            local.trigger()
        if turn % 2 == 1 and turn < 20:
            unit = sorted(local.units)[turn // 2 % len(local.units)]
            generation = read_view(local.catalog, next(p for p in local.programs if p.unit == unit)).generation
            through(
                "reset", lambda u=unit, g=generation: reset_unit(Catalog(home), local.name, u, generation=g, force=True)
            )
        if turn % 2 == 0:
            through("collect", lambda: collect_garbage(local.catalog, local.name, local.programs))
        contents.append(content(home, local.name))
        if stepping.complete(local.catalog, local.name):
            break
    assert {name: published(local.published(name)) for name in expected_of_network(COUNT)} == expected_of_network(COUNT)
    return contents


def test_a_fault_at_any_point_changes_nothing_in_the_end(
    tmp_path: Path, server: Server | None, monkeypatch: pytest.MonkeyPatch
):
    impatient = dict(Catalog.__init__.__kwdefaults__ or {}, patience=0.0)  # else a lost BEGIN would go unseen
    monkeypatch.setattr(Catalog.__init__, "__kwdefaults__", impatient)
    compilation = network(tmp_path, COUNT, fusion="manual", pes=3)
    undisturbed = run(Home(tmp_path / "undisturbed"), compilation, lambda _name, action: action())
    with injected(Faults(server)) as faults:
        for name in STEPPED:
            action = getattr(stepping, name)
            monkeypatch.setattr(
                stepping, name, lambda *a, _n=name, _f=action, **k: faults.through(_n, lambda: _f(*a, **k))
            )
        disturbed = run(Home(tmp_path / "disturbed0"), compilation, faults.through)
    for turn, (actual, wanted) in enumerate(zip(disturbed, undisturbed, strict=True)):
        assert actual == wanted, turn
    assert set(faults.points) == {*STEPPED, "reset", "collect"}
    assert faults.points["commit_batch"] > 5
    assert min(faults.commits.values()) >= 1


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.deep)], indirect=True)
def test_planners_meet_faults_at_every_point_and_commit_each_batch_once(
    tmp_path: Path, server: Server | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reader, "OUTAGE_SECONDS", 0.0)
    local = LocalApplication(Home(tmp_path / "home"), network(tmp_path, COUNT, fusion="manual", pes=3), source_limit=4)
    queries = [PlannedPe(local, program) for program in local.programs]
    at_points = (Fault(server, point=number % 26) for number in itertools.count(1))
    at_commits = (Fault(server, commit=number % 3) for number in itertools.count(1))
    happened = 0
    with injected(Faults(server)) as faults:
        for call, query in enumerate(itertools.islice(itertools.cycle(queries), 600)):
            fault = faults.current = next(at_commits if call // len(queries) % 2 else at_points)
            query.turn()
            faults.current = None
            happened += fault.happened
            if call % 10 == 0:
                local.trigger()
            if call % len(queries) == 0 and all(read_view(local.catalog, p).final for p in local.programs):
                break
    stepping.publish(local.catalog, local.name)
    assert happened > 20
    actual = {name: published(local.published(name)) for name in expected_of_network(COUNT)}
    assert actual == expected_of_network(COUNT)


def test_a_planner_gives_up_when_the_catalog_stays_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    local = LocalApplication(Home(tmp_path / "home"), network(tmp_path, COUNT, fusion="manual", pes=3), source_limit=4)
    query = PlannedPe(local, next(program for program in local.programs if program.sources))
    query.turn()

    def away(*_: object, **__: object) -> None:
        raise CatalogLostError(*LOST)

    monkeypatch.setattr(reader, "commit_batch", away)
    query.turn()
    monkeypatch.setattr(outage.world, "monotonic", lambda: math.inf)
    with pytest.raises(CatalogLostError):
        query.turn()
    failure = query.scratch.failure
    assert failure is not None
    assert "no route to it" in failure.message
    assert failure.nature == "outside"


def test_an_outage_beyond_its_limit_ends_with_the_error():
    patience = outage.Outage(limit=0.0)
    tries: list[int] = []

    def away() -> None:
        tries.append(1)
        raise CatalogLostError(*LOST)

    with pytest.raises(CatalogLostError):
        patience.through(away)
    assert len(tries) > 1
