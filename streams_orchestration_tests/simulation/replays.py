"""Replay files: the case of a run and its choices, from which the run is repeated, and shrunk if it went wrong."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from streams_orchestration_tests.simulation.choices import Choices, Made
from streams_orchestration_tests.simulation.runs import Case, Verdict
from streams_orchestration_tests.simulation.shrinking import FAULTS, shrunk
from streams_orchestration_tests.simulation.workers import simulated


def keep(path: Path, case: Case, made: Made) -> None:
    """Write a case and its choices into a file, from which the run can be repeated."""
    path.write_text(json.dumps({"case": asdict(case), "made": made}), encoding="utf-8")


def kept(path: Path) -> tuple[Case, Choices]:
    """Return what `keep` has written."""
    document = json.loads(path.read_text(encoding="utf-8"))
    case = Case(**{**document["case"], "kinds": tuple(document["case"]["kinds"])})
    made = {stream: {int(number): option for number, option in of.items()} for stream, of in document["made"].items()}
    return case, Choices.replay(made)


def shrink(path: Path, verdict: Verdict, mutant: str | None = None) -> str:
    """Shrink a run that went wrong, write the result into a replay file, and return what it is, in words.

    Args:
        path: the file.
        verdict: the judgement on the run.
        mutant: the fault of the product that was installed; None for none.
    """
    last = verdict

    def again(made: Made) -> Made | None:
        nonlocal last
        (found,) = simulated([(verdict.case, Choices.replay(made))], mutant)
        if not found.wrong or found.choices.made.get(FAULTS, {}).keys() - made.get(FAULTS, {}).keys():
            return None
        last = found
        return found.choices.made or made

    made = shrunk(verdict.choices.made, again)
    keep(path, verdict.case, made)
    title = f"shrunk to {len(last.faults)} of {len(verdict.faults)} faults: {path}"
    return "\n".join([title, *last.faults, *last.wrong])
