"""The scratch directory of one generation of a PE, through which host, planner and tasks of its query communicate.

Everything in it serves one query and is removed with it.
"""

from __future__ import annotations

import functools
import logging
import pickle
import shutil
from dataclasses import dataclass
from pathlib import Path

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.operators.loading.import_path import import_from
from streams_orchestration.operators.storage.durable_files import write_whole
from streams_orchestration.runtime.programs.failure import Failure
from streams_orchestration.runtime.storage.directories import Directories

CLAIM = "claim-"
"""Prefix of a claim file beside the registers of a query: it names the worker that chooses an owner for a task."""

log = logging.getLogger("streams.planner")


@dataclass(frozen=True)
class Launched:
    """The program and the settings of a query."""

    program: PeProgram
    directories: Directories
    measured: bool = True
    """True if tasks count tuples and measure times."""
    apart: bool = False
    """True if tasks need not be on one machine; then they exchange nothing through files."""
    hang_limit: int = 0
    """Seconds without progress of a task after which its process ends itself.

    0 if the host ends processes that hang.
    """


@dataclass(frozen=True)
class Scratch:
    """The directory of a query; it is sent to the planner and the workers as its path."""

    path: str

    @classmethod
    def create(cls, path: Path, launched: Launched) -> Scratch:
        """Create the directory for a query, and write its program and settings there.

        Raises:
            FileExistsError: the directory exists.
        """
        scratch = cls(str(path))
        Path(scratch.answers).mkdir(parents=True)
        (path / "owners").mkdir()
        Path(scratch.exchange).mkdir()
        (path / "launched.pickle").write_bytes(pickle.dumps(launched))
        return scratch

    @property
    def launched(self) -> Launched:
        """The program and settings of the query. A process reads them once, and can import the spec's modules then."""
        return _read(self.path)

    @property
    def answers(self) -> str:
        """The directory of the tasks' answers."""
        return f"{self.path}/answers"

    @property
    def exchange(self) -> str:
        """The directory for data between levels that is too large for a row."""
        return f"{self.path}/exchange"

    def owner(self, level: int, partition: int) -> Path:
        """Return the register of a task: the file that names the worker which runs it."""
        return Path(self.path) / "owners" / f"{level}-{partition}"

    @property
    def notified(self) -> Path:
        """The file whose times the host sets when something has changed that the planner waits for."""
        return Path(self.path) / "notified"

    @property
    def checkpoint(self) -> str:
        """The path of Spark's checkpoint, which Spark requires. Only a Spark query is restored from it."""
        return f"{self.path}/checkpoint"

    def mark_begun(self) -> None:
        """Record that the planner is ready, so Spark runs the query. Raises OSError if a file cannot be written."""
        (Path(self.path) / "begun").touch()

    @property
    def begun(self) -> bool:
        """True if the planner is ready, so Spark runs the query."""
        return (Path(self.path) / "begun").exists()

    def mark_planned(self, batch: int) -> None:
        """Record that the planner has handed a batch to Spark; several sources of a query may do so at once.

        Raises:
            OSError: the file cannot be written.
        """
        write_whole(Path(self.path) / "planned", str(batch), durably=False)

    @property
    def planned(self) -> int | None:
        """The number of the batch that Spark runs; None if it runs no planned batch."""
        try:
            return int((Path(self.path) / "planned").read_text())
        except FileNotFoundError:
            return None

    def clear_planned(self) -> None:
        """Record that Spark has run the batch."""
        (Path(self.path) / "planned").unlink(missing_ok=True)

    def unanswered(self) -> list[str]:
        """Return the processes that run unanswered tasks of the current batch, as written in the files of `owners`.

        Only the lowest level with unanswered tasks counts, since later levels have not begun. For a task without an
        owner, the result has the worker that is choosing an owner. The result is empty if no batch runs, or if a task
        ends during the call.
        """
        waiting: dict[int, list[str]] = {}
        if (batch := self.planned) is None:
            return []
        try:
            for register in (Path(self.path) / "owners").iterdir():
                task = register.name.removeprefix(CLAIM)
                level, _, partition = task.partition("-")
                names_task = level.isdecimal() and partition.isdecimal()
                if names_task and not (Path(self.answers) / f"{batch}-{task}.json").exists():
                    waiting.setdefault(int(level), []).append(register.read_text())
        except OSError:  # the task has just ended
            return []
        return waiting[min(waiting)] if waiting else []

    def mark_resting(self) -> None:
        """Record that the planner has committed its last batch, and plans no more.

        Raises OSError if the file cannot be written.
        """
        (Path(self.path) / "resting").touch()

    @property
    def resting(self) -> bool:
        """True if no batch runs, and none will begin."""
        return (Path(self.path) / "resting").exists()

    def record_failure(self, failure: Failure) -> None:
        """Record for the host why the planner gives up. If that cannot be written, only the log has the reason."""
        from streams_orchestration.runtime.programs.codecs import failure_codec

        try:
            write_whole(self._failure, failure_codec.dump_json(failure), durably=False)
        except OSError as error:
            message = "%s cannot be written: %s. Its content was to be: %s"
            log.error(message, self._failure, error.strerror, failure.message)

    @property
    def failure(self) -> Failure | None:
        """The reason why the planner gave up; None if it did not.

        If the reason cannot be read, the disk is at fault, and a reset may help.
        """
        try:
            content = self._failure.read_bytes()
            from streams_orchestration.runtime.programs.codecs import failure_codec  # a host starts without pydantic

            return failure_codec.validate_json(content)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or "it is truncated or was altered"
            return Failure(
                f"the planner has given up, and its reason in {self._failure} cannot be read: {reason}; "
                "check that its disk works and has room, then reset"
            )

    @property
    def _failure(self) -> Path:
        return Path(self.path) / "failure.json"

    def remove(self) -> None:
        """Remove the directory when the query has ended; files that cannot be removed stay."""
        shutil.rmtree(self.path, ignore_errors=True)


@functools.lru_cache(maxsize=256)
def _read(path: str) -> Launched:
    # our own host has written it
    launched: Launched = pickle.loads((Path(path) / "launched.pickle").read_bytes())  # noqa: S301
    import_from(launched.directories.base)  # a standby may serve another application than its parent processes knew
    return launched
