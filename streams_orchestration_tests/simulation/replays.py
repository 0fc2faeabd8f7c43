"""Replay files: the case of a run and its choices, from which the run is repeated, and shrunk if it went wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from streams_orchestration_tests.simulation.choices import Choices, Made
from streams_orchestration_tests.simulation.runs import Case, Verdict
from streams_orchestration_tests.simulation.shrinking import FAULTS, TRIES, shrunk
from streams_orchestration_tests.simulation.workers import simulated

SHRINK_SECONDS = 120.0
"""Seconds of processor time in which a run is shrunk."""
MORE_STEPS = 500
"""Steps by which a run may be longer than the one that is shrunk."""
NAMES = re.compile(r"/\S+|[0-9a-f]{6,}|\d+")
"""Parts of what is wrong that differ from run to run."""
KIND = 30
"""Characters of what is wrong that two runs must have in common."""


def keep(path: Path, case: Case, made: Made) -> None:
    """Write a case and its choices into a file, from which the run can be repeated."""
    path.write_text(json.dumps({"case": asdict(case), "made": made}), encoding="utf-8")


def kept(path: Path) -> tuple[Case, Choices]:
    """Return what `keep` has written."""
    document = json.loads(path.read_text(encoding="utf-8"))
    case = Case(**{**document["case"], "kinds": tuple(document["case"]["kinds"])})
    made = {stream: {int(number): option for number, option in of.items()} for stream, of in document["made"].items()}
    return case, Choices.replay(made)


def shrink(
    path: Path, verdict: Verdict, mutant: str | None = None, *, seconds: float = SHRINK_SECONDS, tries: int = TRIES
) -> str:
    """Shrink a run that went wrong, write the result into a replay file, and return what it is, in words.

    A run counts only if the same is wrong with it, apart from numbers and names of files.

    Args:
        path: the file.
        verdict: the judgement on the run.
        mutant: the fault of the product that was installed; None for none.
        seconds: seconds of processor time after which no further run is tried.
        tries: most runs.
    """
    last, spent = verdict, 0.0

    def again(made: Made) -> Made | None:
        nonlocal last, spent
        if spent > seconds:
            return None
        case = replace(verdict.case, steps=verdict.steps + MORE_STEPS)
        (found,) = simulated([(case, Choices.replay(made))], mutant)
        spent += found.taken
        same = _kinds(found.wrong) == _kinds(last.wrong)
        if not same or found.choices.made.get(FAULTS, {}).keys() - made.get(FAULTS, {}).keys():
            return None
        last = found
        return found.choices.made or made

    made = shrunk(verdict.choices.made, again, tries)
    keep(path, verdict.case, made)
    title = f"in {spent:.0f} s shrunk to {len(last.faults)} of {len(verdict.faults)} faults: {path}"
    return "\n".join([title, *last.faults, *last.wrong])


def _kinds(wrong: Sequence[str]) -> str:
    """Return how the first thing that is wrong begins, without numbers and names."""
    return NAMES.sub("#", wrong[0])[:KIND] if wrong else ""
