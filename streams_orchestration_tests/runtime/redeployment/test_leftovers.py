"""Leftovers of a redeploy that died."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from sqlalchemy import update

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.errors.errors import CommitUnknownError
from streams_orchestration.runtime.redeployment.state_migration import removed_on_failure
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.garbage import end_holds_and_find_unknown_pes, sweep
from streams_orchestration.runtime.units.holding import hold_units, release_units
from streams_orchestration_tests.runtime.applications import compiled, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    file = write_rows(tmp_path / "rows.parquet", 4)
    return LocalApplication(Home(tmp_path / "home"), compiled([source("Rows", file), sink("Out", "Rows")]))


def written_state(local: LocalApplication, pe: int) -> Path:
    """Return a file as a redeploy writes it before it switches."""
    path = local.home.data(local.name) / "states" / f"pe-{pe}" / "g2-b1-o0-12345678.state"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


@pytest.mark.parametrize(
    ("error", "stays"),
    [(None, True), (KeyboardInterrupt(), False), (CommitUnknownError("catalog.db", "the server is gone"), True)],
    ids=["no error", "an interruption", "an unknown commit"],
)
def test_files_of_a_block_that_fails_are_removed_unless_the_catalog_may_name_them(
    tmp_path: Path, error: BaseException | None, stays: bool
):
    store, written = Home(tmp_path).store, list[str]()
    with nullcontext() if error is None else pytest.raises(type(error)), removed_on_failure(store, written):
        written.append("a.state")
        store.write("a.state", b"state")
        if error is not None:
            raise error
    assert (tmp_path / "a.state").exists() == stays


def test_states_for_a_plan_that_never_came_are_removed_unless_a_redeploy_is_under_way(local: LocalApplication):
    written = written_state(local, 7)
    hold_units(local.held())
    assert end_holds_and_find_unknown_pes(local.catalog, local.name) is None
    release_units(local.catalog, local.name)
    assert end_holds_and_find_unknown_pes(local.catalog, local.name) == (7,)
    sweep(local.catalog, local.name, (7,))
    assert not written.exists()


def test_a_query_that_starts_in_the_middle_of_a_redeploy_leaves_the_states_of_the_new_plan(local: LocalApplication):
    written = written_state(local, 0)
    hold_units(local.held())
    assert sweep(local.catalog, local.name, [0]) == (0, True)
    assert written.exists()
    release_units(local.catalog, local.name)
    assert sweep(local.catalog, local.name, [0]) == (1, False)
    assert not written.exists()


@pytest.mark.parametrize(
    ("host", "incarnation", "removed"), [(0, "mine", True), (0, "former", False), (1, "of another host", False)]
)
def test_a_host_leaves_the_files_of_pes_that_another_one_has_to_run(
    local: LocalApplication, host: int, incarnation: str, removed: bool
):
    """A host that stood still while another one took its place would else remove what that one has not committed."""
    written = local.home.data(local.name) / "streams" / "pe-0" / "not-committed.arrow"
    written.parent.mkdir(parents=True)
    written.touch()
    with local.catalog.write() as connection:
        connection.execute(update(tables.host).where(tables.host.c.id == 0).values(incarnation="mine"))
    sweep(local.catalog, local.name, [0], owner=(host, incarnation))
    assert written.exists() != removed
