"""The protocol of consistent regions, tried in every course of events that a small application can take.

Everything is here that the catalog decides: plans, commits, the end of epochs, resets, publishing, garbage, hosts that
are started anew, and batches that outlive any of these. `make deep` tries more faults and epochs, for minutes.
"""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration_tests.protocol.search import Outcome, search
from streams_orchestration_tests.protocol.steps import Protocol
from streams_orchestration_tests.protocol.topologies import GRAPHS, topology

BOUNDS: dict[str, tuple[int, int]] = {
    "query": (1, 1),
    "chain of 2": (2, 2),
    "chain of 3": (2, 1),
    "diamond": (2, 1),
    "two channels": (1, 0),
    "two starts that join": (2, 1),
    "autonomous consumer": (1, 1),
    "autonomous consumer behind the region": (1, 0),
    "two regions in a row": (1, 0),
}
"""Epochs that the period ends, and faults."""
DEEP_BOUNDS: dict[str, tuple[int, int]] = {
    "query": (4, 4),
    "chain of 2": (4, 4),
    "chain of 3": (4, 3),
    "diamond": (4, 3),
    "two channels": (3, 2),
    "two starts that join": (4, 3),
    "autonomous consumer": (3, 2),
    "autonomous consumer behind the region": (3, 2),
    "two regions in a row": (2, 2),
}


@pytest.mark.parametrize(
    ("name", "epochs", "faults"),
    [
        *(pytest.param(name, *BOUNDS[name], marks=pytest.mark.slow) for name in GRAPHS),
        *(pytest.param(name, *DEEP_BOUNDS[name], marks=pytest.mark.deep) for name in GRAPHS),
    ],
)
def test_every_course_of_events_ends_as_an_undisturbed_run_does(name: str, epochs: int, faults: int):
    actual = search(Protocol(topology(name), epochs=epochs, faults=faults))
    assert actual.violation is None, _explained(actual)
    assert actual.exhaustive
    assert actual.ends > 1, "epochs end in different places"


TRIALS: dict[str, tuple[int, int]] = {"chain of 2": (1, 1), "autonomous consumer": (0, 0)}
"""As `BOUNDS`, with one redeploy whose trial passes at any moment, or it is reverted."""
DEEP_REDEPLOYS: dict[str, tuple[int, int]] = {
    "query": (1, 1),
    "chain of 2": (2, 2),
    "chain of 3": (1, 1),
    "two channels": (1, 1),
    "autonomous consumer": (1, 1),
    "two regions in a row": (1, 1),
}


@pytest.mark.parametrize(
    ("name", "epochs", "faults"),
    [
        *(pytest.param(name, *TRIALS[name], marks=pytest.mark.slow) for name in TRIALS),
        *(pytest.param(name, *DEEP_REDEPLOYS[name], marks=pytest.mark.deep) for name in DEEP_REDEPLOYS),
    ],
)
def test_a_redeploy_changes_nothing_whenever_it_passes_or_is_reverted(name: str, epochs: int, faults: int):
    actual = search(Protocol(topology(name), epochs=epochs, faults=faults, redeploys=1))
    assert actual.violation is None, _explained(actual)
    assert actual.exhaustive
    assert actual.ends > 1, "epochs end in different places"


@pytest.mark.parametrize(
    ("name", "epochs", "faults"),
    [
        pytest.param("autonomous consumer", 0, 0, marks=pytest.mark.slow),
        pytest.param("two channels", 1, 0, marks=pytest.mark.deep),
    ],
)
def test_a_redeploy_changes_nothing_whenever_it_comes_and_wherever_it_dies(name: str, epochs: int, faults: int):
    actual = search(Protocol(topology(name), epochs=epochs, faults=faults, redeploys=1, trials=False))
    assert actual.violation is None, _explained(actual)
    assert actual.exhaustive
    assert actual.ends > 1, "epochs end in different places"


BROKEN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "no fence against what a reset has left behind": (
        "chain of 2",
        "has no commit that closes epoch 1",
        {"fenced": False, "kinds": ("reset",)},
    ),
    "no fence between a host and the one in its place": ("chain of 2", "removed as garbage", {"fenced_start": False}),
    "no alignment": ("chain of 2", "the cut is not consistent", {"aligned": False}),
    "no alignment in a diamond": ("diamond", "the cut is not consistent", {"aligned": False}),
    "no alignment where two starts join": ("two starts that join", "cut is not consistent", {"aligned": False}),
    "published before the epoch is complete": (
        "chain of 2",
        "published what a reset or a revert takes back",
        {"publishes_complete_epochs": False},
    ),
    "garbage that a cut of another region needs": (
        "two regions in a row",
        "can need segment 0 of PE 0, which is gone",
        {"keeps_cut": False, "epochs": 1},
    ),
    "held up by those who cannot read yet": (
        "autonomous consumer behind the region",
        "nothing is possible any more",
        {"waits_for_outsiders": True, "faults": 0},
    ),
    "no commit at the boundary of a switch": (
        "chain of 2",
        "has no commit that closes epoch 1",
        {"boundary_commits": False, "redeploys": 1, "epochs": 1},
    ),
    "no second check before a switch": (
        "chain of 2",
        "published what a reset or a revert takes back, or twice",
        {"looks_again": False, "redeploys": 1, "epochs": 1, "faults": 0},
    ),
    "no proof of keys that the old splitter divided": (
        "two channels",
        "PE 1 has the state of 10, whose tuples go to PE 2",
        {"divides": False, "proves": False, "trials": False, "redeploys": 1, "epochs": 1, "faults": 0},
    ),
    "what is on trial is shown at once": (
        "chain of 2",
        "has published what a reset or a revert takes back",
        {"shows_after_trial": False, "redeploys": 1, "epochs": 1, "faults": 0},
    ),
    "garbage that the previous plan needs": (
        "autonomous consumer behind the region",
        "can need segment 0 of PE 1, which is gone",
        {"keeps_cut_on_trial": False, "redeploys": 1, "epochs": 1, "faults": 0},
    ),
    "a revert that uses numbers of the trial again": (
        "two channels",
        "PE 2 has the state of 10, whose tuples go to PE 1",
        {"numbers_grow": False, "redeploys": 1, "epochs": 1, "faults": 0},
    ),
    "a reset that leaves watermarks where they are": (
        "chain of 2",
        "undisturbed it is 0 behind ()",
        {"watermarks_go_back": False, "epochs": 1},
    ),
    "a merge that takes the greatest watermark": (
        "two starts that join",
        "undisturbed it is 0 behind (10,)",
        {"merges_least": False, "epochs": 1, "faults": 0},
    ),
    "streams that begin with nothing after a redeploy": (
        "chain of 2",
        "has committed the watermark 0; undisturbed it is 1 behind (10,)",
        {"switches_watermarks": "none", "trials": False, "redeploys": 1, "epochs": 1, "faults": 0},
    ),
    "streams that begin with the greatest watermark after a redeploy": (
        "two starts that join",
        "has committed the watermark 1; undisturbed it is 0 behind",
        {"switches_watermarks": "greatest", "trials": False, "redeploys": 1, "epochs": 2, "faults": 0},
    ),
    "a checkpoint that a reset does not cut back": (
        "query",
        "PE 1: Spark stands at batch 0, the catalog at -1",
        {"cuts_back": False, "epochs": 1, "kinds": ("reset",)},
    ),
    "a checkpoint that is linked behind the commit": (
        "query",
        "PE 1: the checkpoint of its cut is that of batch -1, its cut batch 0",
        {"links_in_commit": False, "epochs": 1},
    ),
    "a host that begins with a checkpoint of another batch": (
        "query",
        "PE 1: Spark stands at batch 0, the catalog at 1",
        {"starts_at_boundary": False, "epochs": 1},
    ),
    "a checkpoint that keeps its number over a redeploy": (
        "query",
        "PE 1: the checkpoint of its cut is that of batch -1, its cut batch 0",
        {"renumbers": False, "redeploys": 1, "epochs": 1, "faults": 0},
    ),
}
"""A map from each part that is switched off to the place and the form of its failure."""


@pytest.mark.slow
@pytest.mark.parametrize("case", BROKEN)
def test_a_protocol_that_lacks_a_part_is_found_out(case: str):
    name, violation, switches = BROKEN[case]
    actual = search(Protocol(topology(name), **switches))
    print(_explained(actual))
    assert actual.violation is not None, "the search sees nothing, so it proves nothing"
    assert violation in actual.violation, _explained(actual)
    assert actual.trace


LOST: dict[str, tuple[str, str, dict[str, Any]]] = {
    "no fence": ("chain of 2", "it is not complete", {"fenced": False, "kinds": ("reset",)}),
    "no alignment": ("chain of 3", r"PE 2 has published (), wanted are [10, 11]", {"aligned": False}),
    "published early": (
        "chain of 2",
        "published (10, 10, 11), wanted are [10, 11]",
        {"publishes_complete_epochs": False},
    ),
    "garbage": ("two regions in a row", "published (), wanted are [10]", {"keeps_cut": False, "epochs": 1}),
    "no commit at the boundary of a switch": (
        "chain of 2",
        "nothing is possible any more, and it is not complete",
        {"boundary_commits": False, "redeploys": 1, "epochs": 1},
    ),
    "no second check before a switch": (
        "chain of 2",
        "PE 0 ends with the state (), wanted is (10, 11)",
        {"looks_again": False, "redeploys": 1, "epochs": 1, "faults": 0},
    ),
    "no proof of keys": (
        "two channels",
        "PE 1 ends with the state (10,), wanted is (11,)",
        {"divides": False, "proves": False, "trials": False, "redeploys": 1, "epochs": 1, "faults": 0},
    ),
    "shown on trial": (
        "chain of 2",
        "published (10, 10, 11), wanted are [10, 11]",
        {"shows_after_trial": False, "redeploys": 1, "epochs": 1, "faults": 0},
    ),
    "watermarks that a reset leaves": (
        "chain of 2",
        "PE 1: the tuple 10 of time 1 came late",
        {"watermarks_go_back": False, "epochs": 1},
    ),
    "the greatest of several watermarks": (
        "two starts that join",
        "PE 2: the tuple 10 of time 1 came late",
        {"merges_least": False, "epochs": 1, "faults": 0},
    ),
    "a checkpoint not cut back": (
        "query",
        "published (10, 10, 11), wanted are [10, 11]",
        {"cuts_back": False, "compares": False, "epochs": 1, "kinds": ("reset",)},
    ),
    "a host that begins without a checkpoint": (
        "query",
        "published (), wanted are [10, 11]",
        {"starts_at_boundary": False, "epochs": 1},
    ),
    "windows that nothing closes": ("query", "published (), wanted are [10, 11]", {"flushes": False, "faults": 0}),
}
"""The same, as a user would notice it."""


@pytest.mark.deep
@pytest.mark.parametrize("case", LOST)
def test_a_protocol_without_one_of_its_rules_violates_its_promises(case: str):
    name, violation, switches = LOST[case]
    actual = search(Protocol(topology(name), **switches), at_ends=True)
    assert actual.violation is not None
    assert violation in actual.violation, _explained(actual)


@pytest.mark.slow
def test_the_proof_of_keys_refuses_what_the_old_splitter_divided():
    actual = search(Protocol(topology("two channels"), divides=False, redeploys=1, epochs=0, faults=0, trials=False))
    assert actual.violation is None, _explained(actual)
    assert actual.exhaustive


def test_a_trace_is_a_shortest_one_and_can_be_read():
    actual = search(Protocol(topology("chain of 2"), publishes_complete_epochs=False))
    assert actual.trace == (
        "PE 0: begin batch 0 of epoch 1, tuples [10]",
        "PE 0: commit of batch 0, generation 1, tuples [10]",
        "PE 1: begin batch 0 of epoch 1, tuples [10]",
        "PE 1: commit of batch 0, generation 1, tuples [10]",
        "PE 1: move",
    )


def _explained(actual: Outcome) -> str:
    return "\n  ".join([f"{actual.worlds} worlds; {actual.violation}", *actual.trace])
