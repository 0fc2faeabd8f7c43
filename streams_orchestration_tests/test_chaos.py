"""The chaos harness finds what is wrong, and a small run of it."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from streams_orchestration.compiler.redeployment.numbered import at_run_time
from streams_orchestration.compiler.redeployment.preview import preview
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests import mariadb
from streams_orchestration_tests.chaos import chaos_run
from streams_orchestration_tests.chaos.__main__ import CATALOGS, main
from streams_orchestration_tests.chaos.fed_panes import FED, FedPanes
from streams_orchestration_tests.chaos.healers import HEALERS
from streams_orchestration_tests.chaos.pairs import A_SECOND, PAIRS, rows, shape_at
from streams_orchestration_tests.chaos.plans import Plans
from streams_orchestration_tests.chaos.queries import QUERIES
from streams_orchestration_tests.chaos.shapes import SHAPES, Shape, shape_of
from streams_orchestration_tests.chaos.undisturbed import Outcome, differences, together, undisturbed
from streams_orchestration_tests.postgresql import why_not


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["chain", "join", "two_regions", "large"]
    + [pytest.param(name, marks=pytest.mark.deep) for name in ("diamond", "fan_in", "outside", "two_hosts")],
)
def test_an_application_depends_on_its_seed_only(name: str):
    made = shape_of(name, 1, 2.0)
    assert made == shape_of(name, 1, 2.0)
    actual = undisturbed(made)
    assert differences(actual, undisturbed(made), made.ordered) == []
    assert all(actual.results.values())
    assert 2 <= len(made.compiled(Path("hurry")).fusion.pes) <= 12


@pytest.mark.parametrize(("name", "width"), [("query", 1), ("query_in_channels", 3)])
def test_a_count_and_a_join_are_one_query_of_spark_in_each_channel(name: str, width: int):
    made = shape_of(name, 1, 2.0, QUERIES)
    assert made == shape_of(name, 1, 2.0, QUERIES)
    programs = made.compiled(Path("hurry")).deployment.programs
    assert [len(program.operators) for program in programs if program.engine == "dataframe"] == [2] * width


@pytest.mark.parametrize("name", [*SHAPES, *QUERIES])
def test_every_plan_of_an_application_keeps_all_state_of_every_other(name: str, tmp_path: Path):
    shape = shape_of(name, 2, 2.0, SHAPES | QUERIES)
    plans = Plans(shape, random.Random(2), tmp_path, tmp_path / "hurry")
    before = shape.compiled(tmp_path / "hurry")
    for _ in range(4):
        after = plans.another()
        redeployment = preview(before, after)
        assert redeployment.acceptable, redeployment.document()
        before = at_run_time(after, redeployment.numbering)


RIGHT = Outcome({"Out": [("a", 1), ("b", 2), ("b", 2)]}, {"Count": {"n": "3"}})


def test_tuples_that_went_by_several_channels_keep_the_order_of_their_keys():
    swapped = RIGHT._replace(results={"Out": [("b", 2), ("a", 1), ("b", 2)]})
    assert differences(swapped, RIGHT, ["Out"], by_key=True) == []
    one_key = Outcome({"Out": [("a", 1), ("b", 1), ("a", 2)]}, {})
    mixed = one_key._replace(results={"Out": [("a", 2), ("b", 1), ("a", 1)]})
    (difference,) = differences(mixed, one_key, ["Out"], by_key=True)
    assert "out of order from tuple 0 on: ('a', 2) in place of ('a', 1)" in difference


def test_the_memories_of_replicas_are_judged_together():
    parts = [{"totals": {"keyed": ["b", "d"]}, "n": "1"}, {"totals": {"keyed": ["a"]}}]
    assert together(*parts) == together(*reversed(parts)) == {"n": "1", "totals": {"keyed": ["a", "b", "d"]}}


@pytest.mark.parametrize(
    ("actual", "message"),
    [
        (RIGHT._replace(results={"Out": [("a", 1), ("b", 2)]}), "Out: 1 of 3 tuples are lost"),
        (RIGHT._replace(results={}), "Out: 3 of 3 tuples are lost"),
        (RIGHT._replace(results={"Out": [("a", 1), ("a", 1), ("b", 2), ("b", 2)]}), "1 are doubled or wrong"),
        (RIGHT._replace(results={"Out": [("b", 2), ("a", 1), ("b", 2)]}), "Out: out of order from tuple 0 on"),
        (RIGHT._replace(states={"Count": {"n": "4"}}), "Count: its state is not that of an undisturbed run"),
        (RIGHT._replace(states={}), "Count: its state is not that of an undisturbed run"),
    ],
)
def test_lost_doubled_and_mixed_up_tuples_are_named(actual: Outcome, message: str):
    (difference,) = differences(actual, RIGHT, ["Out"])
    assert message in difference


@pytest.mark.parametrize(("actual", "wanted"), [({}, {"Held": {}}), ({"Held": {}}, {})])
def test_an_empty_state_may_never_have_been_stored(actual: dict[str, object], wanted: dict[str, object]):
    assert differences(Outcome({}, actual), Outcome({}, wanted), []) == []


FIRINGS = [("a", 0, 1, 1, 0), ("a", 0, 2, 3, 1), ("b", 0, 1, 5, 0)]


@pytest.mark.parametrize(
    ("firings", "wanted"),
    [
        (FIRINGS, [("a", 0, 2, 3), ("b", 0, 1, 5)]),
        ([*FIRINGS, ("b", 0, 1, 5, 0)], [("a", 0, 2, 3), ("b", 0, 1, 5), ("b", 0, "firing 0 twice")]),
        (FIRINGS[1:], [("a", 0, 2, 3), ("b", 0, 1, 5), ("a", 0, "firings are missing")]),
    ],
)
def test_the_last_firing_of_a_pane_counts_and_each_comes_once(
    firings: list[tuple[object, ...]], wanted: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Shape, "results", lambda *_: {"Out": firings})
    assert FedPanes("panes", []).results(None) == {"Out": wanted}


@pytest.mark.parametrize(("idle", "wrong"), [(0, ["no partition was idle"]), (1, [])])
def test_panes_of_partitions_that_were_never_idle_prove_nothing(
    idle: int, wrong: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(chaos_run, "outcome", lambda *_: Outcome({"Out": []}, {}))
    monkeypatch.setattr(chaos_run, "left_behind", lambda *_: [])
    verdict = chaos_run.Verdict("kafka_panes", 1, "hand", "local", "sqlite", "home", wanted=1, pes=3, idle=idle)
    chaos_run.judge(FedPanes("panes", []), Home(Path()), verdict, (), None)
    assert verdict.wrong == wrong


@pytest.mark.slow
def test_a_few_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    kinds = [
        "kill host",
        "kill Python process",
        "pause Python process across a reset",
        "kill reset",
        "lock catalog",
        "redeploy",
        "kill redeploy",
    ]
    named = [part for kind in kinds for part in ("--kind", kind)]
    status = main(["--seed", "1", "--faults", "3", "--shape", "chain", "--healer", "hand", "--catalog", "sqlite",
                   "--engine", "local", "--place", str(tmp_path), *named])  # fmt: skip
    assert status == 0, capsys.readouterr().out


@pytest.mark.slow
def test_an_undisturbed_run_between_two_servers_has_the_totals_of_a_loop(tmp_path: Path):
    if (reason := mariadb.why_not()) is not None:
        pytest.skip(reason)
    with shape_at("mariadb", 1, 2.0, tmp_path) as pair:
        actual = undisturbed(pair)
        made, wanted = rows(int(2.0 * A_SECOND)), []
        for number, (key, value) in enumerate(made):
            before = [n for k, n in made[:number] if k == key]
            wanted.append((key, len(before) + 1, sum(before) + value))
        assert differences(actual, actual._replace(results={"Out": wanted}), ()) == []


JAVA = pytest.mark.java
FAULTS, FAULTS_WITH_SPARK, FAULTS_BETWEEN_SERVERS = 12, 6, 9
"""The faults of one application: some minutes each, so a deep run has time for all. The command searches for longer."""
WITHOUT_SPARK = [(shape, catalog) for shape in SHAPES for catalog in CATALOGS]
WITH_SPARK = list(zip([*SHAPES, *QUERIES], itertools.cycle(CATALOGS)))
"""Each application once: a fault takes half a minute to heal, and whatever starts Java runs one after the other."""


def search(shape: str, faults: int, place: Path, *how: str) -> int:
    return main(["--shape", shape, "--faults", str(faults), "--each", str(faults), "--place", str(place), *how])


@pytest.mark.deep
@pytest.mark.parametrize("pair", [pytest.param(each, marks=[JAVA] * (each != "mariadb")) for each in (*PAIRS, *FED)])
def test_faults_between_two_servers(pair: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert search(pair, FAULTS_BETWEEN_SERVERS, tmp_path, "--engine", "local") == 0, capsys.readouterr().out


@pytest.mark.deep
@pytest.mark.parametrize(
    ("shape", "catalog", "healer"),
    [(*case, healer) for case, healer in zip(WITHOUT_SPARK, itertools.cycle(HEALERS))],
)
def test_faults_of_every_kind(
    shape: str, catalog: str, healer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    if catalog == "postgresql" and (reason := why_not()) is not None:
        pytest.skip(reason)
    how = ("--engine", "local", "--catalog", catalog, "--healer", healer)
    assert search(shape, FAULTS, tmp_path, *how) == 0, capsys.readouterr().out


@JAVA
@pytest.mark.deep
@pytest.mark.parametrize(("shape", "catalog"), WITH_SPARK)
def test_faults_of_every_kind_with_spark(shape: str, catalog: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    if catalog == "postgresql" and (reason := why_not()) is not None:
        pytest.skip(reason)
    how = ("--engine", "spark", "--catalog", catalog, "--healer", "hand")
    assert search(shape, FAULTS_WITH_SPARK, tmp_path, *how) == 0, capsys.readouterr().out


@pytest.mark.deep
def test_faults_of_an_object_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    status = main(["--faults", "24", "--each", "8", "--engine", "local", "--storage", "s3", "--place", str(tmp_path)])
    assert status == 0, capsys.readouterr().out
