"""The chaos harness finds what is wrong, and a small run of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration_tests.chaos.__main__ import CATALOGS, main
from streams_orchestration_tests.chaos.shapes import SHAPES, shape_of
from streams_orchestration_tests.chaos.undisturbed import Outcome, differences, undisturbed
from streams_orchestration_tests.postgresql import why_not


@pytest.mark.parametrize("name", SHAPES)
def test_an_application_depends_on_its_seed_only(name: str):
    made = shape_of(name, 1, 2.0)
    assert made == shape_of(name, 1, 2.0)
    found = undisturbed(made)
    assert differences(found, undisturbed(made), made.ordered) == []
    assert all(found.results.values())
    assert 2 <= len(made.compiled(Path("hurry")).fusion.pes) <= 12


RIGHT = Outcome({"Out": [("a", 1), ("b", 2), ("b", 2)]}, {"Count": {"n": "3"}})


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (RIGHT._replace(results={"Out": [("a", 1), ("b", 2)]}), "Out: 1 of 3 tuples are lost"),
        (RIGHT._replace(results={}), "Out: 3 of 3 tuples are lost"),
        (RIGHT._replace(results={"Out": [("a", 1), ("a", 1), ("b", 2), ("b", 2)]}), "1 are doubled or wrong"),
        (RIGHT._replace(results={"Out": [("b", 2), ("a", 1), ("b", 2)]}), "Out: out of order from tuple 0 on"),
        (RIGHT._replace(states={"Count": {"n": "4"}}), "Count: its state is not that of an undisturbed run"),
        (RIGHT._replace(states={}), "Count: its state is not that of an undisturbed run"),
    ],
)
def test_what_is_lost_doubled_or_mixed_up_is_told(found: Outcome, told: str):
    (difference,) = differences(found, RIGHT, ["Out"])
    assert told in difference


@pytest.mark.slow
def test_a_few_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    kinds = ["kill host", "kill Python process", "pause Python process across a reset", "kill reset", "lock catalog"]
    named = [part for kind in kinds for part in ("--kind", kind)]
    status = main(["--seed", "1", "--faults", "6", "--shape", "chain", "--healer", "hand", "--catalog", "sqlite",
                   "--engine", "local", "--place", str(tmp_path), *named])  # fmt: skip
    assert status == 0, capsys.readouterr().out


@pytest.mark.deep
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.java)])
@pytest.mark.parametrize("database", CATALOGS)
@pytest.mark.parametrize("shape", SHAPES)
def test_faults_of_every_kind(
    shape: str, database: str, engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    if database == "postgresql" and (reason := why_not()) is not None:
        pytest.skip(reason)
    status = main(["--faults", "25", "--shape", shape, "--catalog", database,
                   "--engine", engine, "--place", str(tmp_path)])  # fmt: skip
    assert status == 0, capsys.readouterr().out
