"""The product under a simulation: faults at any step, and every run repeated from its seed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = (sys.executable, "-m", "streams_orchestration_tests.simulation", "--json")
"""Simulations run in processes of their own: greenlets that were put aside must not be freed beside other tests."""
FOUND: dict[str, tuple[str, ...]] = {
    "no fence": ("--kind", "zombie", "--seed", "3"),
    "a commit that was made is not known again": ("--kind", "lost_after"),
    "commits while a unit is unhealthy": ("--seed", "1"),
    "nothing is retracted": (),
    "garbage is one batch behind the cut": ("--shape", "outside", "--seed", "2"),
}
"""Mutants that few runs find, the cases for it, and the seed to begin with: at present one that finds it."""


def simulate(*arguments: str) -> list[dict[str, Any]]:
    """Run simulations; return what was found in each."""
    done = subprocess.run([*PROGRAM, *arguments], check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shape", ["diamond", "outside", "two_hosts"])
def test_whatever_fails_and_whenever_the_end_is_that_of_an_undisturbed_run(shape: str):
    for verdict in simulate("--shape", shape, "--runs", "2", "--rate", "0.03"):
        assert verdict["wrong"] == [], verdict


def test_a_lost_answer_costs_no_reset():
    for verdict in simulate("--kind", "lost_before", "lost_after", "--runs", "2", "--faults", "40"):
        assert (verdict["wrong"], verdict["resets"]) == ([], 0), verdict


def test_a_run_is_repeated_to_the_step_in_another_process(tmp_path: Path):
    (first,) = simulate("--seed", "7", "--rate", "0.03", "--keep", str(tmp_path / "run.json"))
    (second,) = simulate("--replay", str(tmp_path / "run.json"))
    assert (first["mark"], first["steps"], first["faults"]) == (second["mark"], second["steps"], second["faults"])


@pytest.mark.parametrize("mutant", FOUND)
def test_a_mutant_is_found(mutant: str):
    verdicts = simulate("--mutant", mutant, "--runs", "12", "--until-wrong", *FOUND[mutant])
    assert verdicts[-1]["wrong"], f"{len(verdicts)} runs found nothing"
