"""What the tasks of a batch did: files that the planner of the PE takes when Spark has ended the batch, to commit it.

They live in the scratch directory of the query, so that nothing of them is left behind, and nothing waits for the disk.
"""

from __future__ import annotations

from pathlib import Path

from streams_orchestration.runtime.programs.batches import TaskResult
from streams_orchestration.runtime.programs.codecs import result_codec


def give_answer(directory: str, batch: int, result: TaskResult) -> None:
    """Say what a task did; whole or not at all."""
    place = Path(directory) / f"{batch}-{result.level}-{result.partition}.json"
    part = place.with_suffix(".part")
    part.write_bytes(result_codec.dump_json(result))
    part.replace(place)


def take_answers(directory: str, batch: int) -> list[TaskResult]:
    """What all tasks of a batch did; their files are gone afterwards."""
    results = []
    for place in sorted(Path(directory).glob(f"{batch}-*.json")):
        results.append(result_codec.validate_json(place.read_bytes()))
        place.unlink()
    return results
