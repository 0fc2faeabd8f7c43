"""The product under a simulation: faults at any step, and every run repeated from its seed."""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from streams_orchestration_tests.simulation.choices import Choices
from streams_orchestration_tests.simulation.mutant_table import MOST_FAULTS, SUITED
from streams_orchestration_tests.simulation.mutants import MUTANTS
from streams_orchestration_tests.simulation.replays import MORE_STEPS
from streams_orchestration_tests.simulation.scheduler import Scheduler

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("simulation")]  # one process has all that is compiled

PROGRAM = (sys.executable, "-m", "streams_orchestration_tests.simulation", "--serve")
"""A process that forks for each test: what is loaded and compiled once serves all, and greenlets that were put aside
are never freed beside other tests."""
DELIVERED = ("--shape", "delivered", "--kind", "target_lost", "--rate", "0.2")
SENT = ("--shape", "sent", "--kind", "target_lost", "--rate", "0.1", "--faults", "20")
RECEIVED = ("--shape", "received", "--faults", "20", "--kind")
MOST_RUNS = 100
"""Most runs in which a test waits for something that random faults bring about.

A change of the product moves all random choices that follow it, so no test relies on a seed. The bound is far above the
mean numbers of runs, which are at most four in `make test`, and sixteen in `make deep`.
"""
RUN_FAULTS = 400
"""Most faults of a run."""
ALL_FAULTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "a region": (600, ("--shape", "diamond")),
    "operators outside of regions": (200, ("--shape", "outside")),
    "two hosts": (450, ("--shape", "two_hosts")),
    "event time": (700, ("--shape", "event_time")),
    "deliveries": (600, ("--shape", "delivered")),
    "transactions of several units": (200, ("--shape", "two_regions", "--catalog", "postgresql")),
    "machines": (800, ("--shape", "diamond", "--machines", "3")),
    "machines with two hosts": (800, ("--shape", "two_hosts", "--machines", "3")),
    "an object store": (300, ("--shape", "two_regions", "--storage", "s3")),
    "an object store of machines": (300, ("--shape", "two_regions", "--storage", "s3", "--machines", "3")),
}
"""Cases with faults of all kinds, each with the number of faults that its runs have together."""
SLOW_COMMIT = ("--catalog", "postgresql", "--shape", "two_regions", "--kind", "slow_commit", "--rate", "0.02")
LATE_SWEEP = ("--shape", "two_hosts", "--machines", "3", "--kind", "late_sweep", "--rate", "0.2", "--faults", "6")
REDEPLOYS = ("--kind", "redeploy", "--rate", "0.002")
SAVEPOINTS = ("--kind", "redeploy", "savepoint", "--rate", "0.005")
FOUND: dict[str, tuple[str, ...]] = {
    "an agent starts a host twice": ("--shape", "two_hosts", "--machines", "3", "--kind", "kill", "--rate", "0.02"),
    "states are removed though their switch may have been made": (
        *("--kind", "redeploy", "lost_switch", "--rate", "0.008", "--faults", "8"),
    ),
    "tuples between units do not count when these are drained": (
        *("--shape", "outside", "--kind", "redeploy", "--rate", "0.01", "--faults", "20"),
    ),
    "no fence": ("--kind", "zombie"),
    "a commit that was made is not known again": ("--kind", "lost_after", "--faults", "30"),
    "commits while a unit is unhealthy": ("--kind", "kill", "suicide", "stop"),
    "nothing is retracted": ("--kind", "kill", "suicide"),
    "garbage is one batch after the cut": ("--shape", "outside", "--kind", "kill", "zombie", "--rate", "0.005"),
    "names are not synchronised": ("--kind", "power"),
    "a pending name goes before the final one is on disk": ("--kind", "power"),
    "states that are carried over are not synchronised": REDEPLOYS,
    "a savepoint has its name before those of its files are on disk": SAVEPOINTS,
    "a unit within an epoch counts as drained": ("--kind", "redeploy", "--rate", "0.004"),
    "numbers of segments are used twice": ("--shape", "outside", "--kind", "kill", "suicide", "--rate", "0.02"),
    "a claim for an agent that was lost counts as made": (
        *("--machines", "3", "--kind", "lost_before", "kill", "--rate", "0.02"),
    ),
    "a replaced host sweeps": LATE_SWEEP,
    "a sweep asks the catalog before it lists": LATE_SWEEP,
    "a commit takes no turn of its unit": (*SLOW_COMMIT, "--faults", "10"),
    "the garbage of all units is collected in the turn of one": SLOW_COMMIT,
    "an operator has the greatest watermark of its streams": ("--shape", "event_time", "--kind", "kill", "stop"),
    "a delivery has no mark": DELIVERED,
    "a mark is not in the transaction of its rows": DELIVERED,
    "a delivery counts before it is made": DELIVERED,
    "letters are acknowledged before they are on disk": (*RECEIVED, "power", "--rate", "0.01"),
    "keys of letters are forgotten when a journal is opened": (*RECEIVED, "kill", "unacknowledged", "--rate", "0.05"),
    "a segment of a journal goes before all of it was read": (*RECEIVED, "kill", "--rate", "0.02"),
    "messages have no mark": SENT,
    "the mark of messages is not in their transaction": SENT,
    "messages are sent without a check of the mark": SENT,
    "the mark is read before the fence": SENT,
    "a producer does not fence the one before": (
        *("--shape", "sent", "--machines", "3", "--kind", "late_delivery", "--rate", "0.1"),
    ),
    "a mark is written without a check of the previous one": (
        *("--shape", "delivered", "--machines", "3", "--kind", "late_delivery", "--rate", "0.2"),
    ),
}
"""Mutants that few runs find, each with a case for it."""
SUITED_FINDS = (
    *("states after the cut are kept", "commits after the cut are kept"),
    *("a reset keeps the generation", "a PE that has not restarted counts as reset"),
    *("an epoch is complete with its first PE", "a reset repeats the number of its epoch"),
    *("a replaced host writes heartbeats", "a file that was not moved counts as published"),
    *("what a reset took back stays", "contents are not synchronised"),
    *("names of new directories are not synchronised", "two redeploys are under way at once"),
    *("the states of a trial's cut are collected", "a revert takes nothing back", "a revert repeats generations"),
    *("a revert repeats epochs", "a revert repeats numbers of segments"),
    *("a redeploy repeats the generation", "heartbeats are of the machine's clock"),
    *("garbage is collected by a plan that was replaced", "small states of a savepoint are not synchronised"),
)
"""Mutants that the first runs of the case find that `mutant_table` has for them."""


def suited(mutant: str) -> tuple[str, ...]:
    """Return the arguments of the case that suits a mutant."""
    rate, kinds, (shape, *_), machines = SUITED[mutant]
    case = ("--shape", shape, "--machines", str(machines), "--rate", str(rate), "--faults", str(MOST_FAULTS))
    return (*case, "--kind", *kinds)


FOUND |= {mutant: suited(mutant) for mutant in SUITED_FINDS}
ALWAYS = (
    *("no fence", "a commit that was made is not known again", "nothing is retracted", "names are not synchronised"),
    *("a unit within an epoch counts as drained", "the mark is read before the fence"),
    *("a mark is written without a check of the previous one", "a replaced host sweeps"),
    *("a commit takes no turn of its unit", "an agent starts a host twice"),
    "states are removed though their switch may have been made",
    "tuples between units do not count when these are drained",
    "garbage is collected by a plan that was replaced",
)
"""Mutants that each merge looks for, one for each kind of fault."""


@functools.cache
def server() -> subprocess.Popen[str]:
    """Return the process of this worker that simulates; it ends with its standard input."""
    return subprocess.Popen(PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def simulate(*arguments: str) -> list[dict[str, Any]]:
    """Run simulations; return what was found in each."""
    process = server()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(shlex.join(arguments) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    assert "verdicts" in answer, answer
    return answer["verdicts"]


def runs(*arguments: str) -> Iterator[dict[str, Any]]:
    """Yield the verdicts on runs, one seed after another, up to `MOST_RUNS`."""
    for seed in range(MOST_RUNS):
        yield from simulate(*arguments, "--seed", str(seed))


def run_with(is_shown: Callable[[dict[str, Any]], object], *arguments: str) -> dict[str, Any]:
    """Return the verdict on the first run that shows something, after runs that end as undisturbed ones do."""
    for verdict in runs(*arguments):
        assert verdict["wrong"] == [], verdict
        if is_shown(verdict):
            return verdict
    pytest.fail(f"none of {MOST_RUNS} runs shows it: {arguments}")


def has_fault(words: str) -> Callable[[dict[str, Any]], bool]:
    """Return a predicate of a verdict: one of its faults has some words."""
    return lambda verdict: any(words in fault for fault in verdict["faults"])


@pytest.mark.parametrize("case", ALL_FAULTS)
def test_runs_with_random_faults_end_as_undisturbed_runs_do(case: str):
    left, arguments = ALL_FAULTS[case]
    faults = useful = 0
    for seed in range(MOST_RUNS):
        (verdict,) = simulate(*arguments, "--faults", str(min(left, RUN_FAULTS)), "--seed", str(seed))
        assert verdict["wrong"] == [], verdict
        assert (verdict["watermarks"] > 100) == (case == "event time")
        faults, useful = faults + len(verdict["faults"]), useful + verdict["useful"]
        left -= len(verdict["faults"])
        if not left:
            break
    assert not left, "an application whose faults take long shows little"
    assert useful > 0.75 * faults, "an application that never comes to work shows nothing"


def test_a_write_that_arrives_unseen_in_an_object_store_costs_no_reset():
    (verdict,) = simulate("--storage", "s3", "--kind", "unseen", "--faults", "40", "--rate", "0.005")
    assert (verdict["wrong"], verdict["resets"]) == ([], 0), verdict


def test_a_clock_that_is_set_costs_no_reset_of_hosts_that_machines_run():
    (verdict,) = simulate("--machines", "3", "--kind", "jump")
    assert (verdict["wrong"], verdict["resets"]) == ([], 0), verdict


def test_a_lost_answer_costs_no_reset():
    (verdict,) = simulate("--kind", "lost_before", "lost_after", "--faults", "40")
    assert (verdict["wrong"], verdict["resets"]) == ([], 0), verdict


def test_a_database_that_sinks_write_to_fails_and_its_readers_see_each_tuple_once():
    case = (*DELIVERED, "--kind", "target_lost", "target_away", "--faults", "8")
    assert run_with(has_fault("after the next delivery"), *case)["resets"] == 0


def test_a_topic_that_sinks_write_to_fails_and_its_readers_see_each_tuple_once():
    assert run_with(has_fault("the next delivery"), *SENT, "--kind", "target_lost", "target_away")["resets"] == 0


def test_a_receiver_fails_and_each_letter_is_read_once():
    run_with(
        has_fault("unacknowledged"), *RECEIVED, "kill", "suicide", "unacknowledged", "power", "full", "--rate", "0.05"
    )


def test_a_publisher_that_comes_late_delivers_nothing_twice():
    case = ("--shape", "delivered", "--machines", "3", "--kind", "late_delivery", "--rate", "0.2")
    run_with(has_fault("late_delivery"), *case)


@pytest.mark.deep
@pytest.mark.parametrize(("shape", "machines"), [("two_regions", "0"), ("outside", "3"), ("two_hosts", "3")])
def test_transactions_of_several_units_and_all_faults_end_as_an_undisturbed_run_does(shape: str, machines: str):
    case = ("--catalog", "postgresql", "--shape", shape, "--machines", machines)
    for verdict in simulate(*case, "--faults", "60", "--rate", "0.03", "--runs", "3", "--seed", "40"):
        assert verdict["wrong"] == [], verdict


def test_a_host_that_sweeps_late_removes_no_file_of_its_successor():
    run_with(has_fault("late_sweep"), *LATE_SWEEP, "--faults", "2")


def test_transactions_of_several_units_are_open_at_once():
    case = (*SLOW_COMMIT, "--kind", "slow_commit", "unheard", "kill", "--faults", "12")
    run_with(lambda verdict: verdict["repeated"] > 10, *case)


def test_redeploys_and_savepoints_cost_no_reset():
    assert run_with(lambda verdict: any("done" in end for end in verdict["redeploys"]), *SAVEPOINTS)["resets"] == 0


def test_nothing_is_lost_with_the_power():
    def is_lost(verdict: dict[str, Any]) -> bool:
        return any(" 0 names and 0 contents" not in fault for fault in verdict["faults"])

    run_with(is_lost, "--kind", "power", "--rate", "0.005", "--faults", "15")


@pytest.mark.deep
def test_a_disk_that_is_broken_until_a_person_replaces_it_costs_no_tuple():
    run_with(lambda verdict: verdict["resets"] > 0, "--kind", "bad_disk", "--rate", "0.002", "--faults", "2")


def test_a_flipped_bit_is_healed_or_refused():
    case = ("--kind", "flip", "kill", "--rate", "0.004", "--shape", "outside", "--faults", "30")
    run_with(has_fault("flip"), *case)


def test_an_application_comes_to_its_end_though_a_machine_is_broken_for_ever():
    case = ("--machines", "3", "--kind", "break", "--rate", "0.002", "--shape", "two_hosts")
    run_with(has_fault("for ever"), *case)


def test_a_run_is_repeated_to_the_step_in_another_process(tmp_path: Path):
    case = ("--shape", "delivered", "--variant", "1", "--machines", "3", "--storage", "s3", "--rate", "0.12")
    (first,) = simulate(*case, "--seed", "114", "--faults", "60", "--keep", str(tmp_path / "run.json"))
    command = (*PROGRAM[:-1], "--replay", str(tmp_path / "run.json"), "--json")
    environment = {**os.environ, "PYTHONHASHSEED": "7"}  # sets have another order there
    second = json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
    assert (first["mark"], first["steps"], first["faults"]) == (second["mark"], second["steps"], second["faults"])


def test_simulated_time_passes_also_if_no_process_is_left():
    scheduler = Scheduler(Choices(None))
    assert not scheduler.run(lambda: False, 90.0)
    assert scheduler.now == 90.0


MANY_FAULTS = 4
"""Faults of a run that is shrunk to half of them; one or two nearly always suffice."""


def test_a_wrong_run_is_shrunk_to_a_few_faults(tmp_path: Path):
    mutant, path = ("--mutant", "nothing is retracted"), tmp_path / "run.json"
    found = runs(*mutant, "--kind", "kill", "suicide", "--faults", "12", "--keep", str(path))
    wrong = next(verdict for verdict in found if verdict["wrong"] and len(verdict["faults"]) >= MANY_FAULTS)
    simulate("--replay", str(path), *mutant, "--shrink", str(path), "--tries", "30")
    (shrunk,) = simulate("--replay", str(path), *mutant)
    assert shrunk["wrong"], shrunk
    assert len(shrunk["faults"]) <= len(wrong["faults"]) / 2, shrunk
    document = json.loads(path.read_text())
    document["case"]["steps"] = shrunk["steps"] + MORE_STEPS  # without other choices the rest takes 100,000 steps
    path.write_text(json.dumps(document))
    (sound,) = simulate("--replay", str(path))
    assert sound["wrong"] == [], "it is the mutant that was found"


def undefined(code: CodeType, known: Collection[str]) -> set[str]:
    """Return the global names in a code that nothing defines."""
    names = {each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"} - {*known}
    return names.union(*(undefined(each, known) for each in code.co_consts if isinstance(each, CodeType)))


def test_every_mutant_changes_a_function_of_the_product_and_only_as_it_says():
    for name, mutant in MUTANTS.items():
        function, before = inspect.unwrap(mutant.function), mutant.code
        with mutant.installed():
            assert mutant.code != before
            unknown = undefined(function.__code__, function.__globals__.keys() | vars(builtins).keys())
            assert not unknown, f"{name}: it would end with NameError"
        assert mutant.code == before


@pytest.mark.parametrize(
    "mutant", [pytest.param(each, marks=[] if each in ALWAYS else pytest.mark.deep) for each in FOUND]
)
def test_a_mutant_is_found(mutant: str):
    verdicts = simulate("--mutant", mutant, "--runs", str(MOST_RUNS), "--until-wrong", *FOUND[mutant])
    assert verdicts[-1]["wrong"], f"{len(verdicts)} runs found nothing"
