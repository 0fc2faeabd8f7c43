"""Results of the tasks of a batch, in files that the PE's planner reads when Spark has ended the batch.

They are in the scratch directory of the query, so that nothing of them is left behind and nothing waits for the disk.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from streams_orchestration.compiler.pe_program import Task
from streams_orchestration.operators.storage.durable_files import write_whole
from streams_orchestration.runtime.programs.batches import TaskResult
from streams_orchestration.runtime.programs.codecs import result_codec


def give_answer(directory: str, batch: int, result: TaskResult) -> None:
    """Write the result of a task to its file, which appears whole or not at all.

    Raises:
        OSError: the file cannot be written.
    """
    place = Path(directory) / f"{batch}-{result.level}-{result.partition}.json"
    write_whole(place, result_codec.dump_json(result), durably=False)


def answered(directory: str, batch: int, task: Task) -> bool:
    """Return True if a task of a batch has written its result."""
    return (Path(directory) / f"{batch}-{task.level}-{task.partition}.json").exists()


def take_answers(directory: str, batch: int, tasks: Iterable[Task]) -> list[TaskResult]:
    """Return the results of some tasks of a batch, and remove their files; leave out tasks that have not answered.

    Files are opened by name, since the list of a directory that is mounted over a network may be out of date.
    """
    places = (Path(directory) / f"{batch}-{task.level}-{task.partition}.json" for task in tasks)
    return [result for place in places if (result := _take(place)) is not None]


def take_all_answers(directory: str, batch: int) -> list[TaskResult]:
    """Return all results of a batch whose tasks are not known beforehand, and remove their files; empty without any.

    The directory must be of this machine.
    """
    places = sorted(Path(directory).glob(f"{batch}-*.json"))
    return [result for place in places if (result := _take(place)) is not None]


def _take(place: Path) -> TaskResult | None:
    try:
        result = result_codec.validate_json(place.read_bytes())
    except FileNotFoundError:
        return None
    place.unlink()
    return result
