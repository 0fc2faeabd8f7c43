"""What can go wrong while an application runs: every error names the thing, its place and the remedy."""

from __future__ import annotations

from pathlib import Path

MINIMUM_JAVA = 17
"""Of Spark 4."""
CATALOG = "STREAMS_CATALOG"
"""The variable that names the catalog's place."""


class StreamsRuntimeError(Exception):
    """Base of the errors that a user can mend; the message is complete, no traceback is needed."""


class StateDirectoryError(StreamsRuntimeError):
    """The state directory cannot be used."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: the state directory cannot be written: {reason}. "
            "Make room or give it write permission, or name another one with STREAMS_HOME."
        )


class StateDirectoryPlaceError(StateDirectoryError):
    """A file is where the state directory is, or one above it."""

    def __init__(self, root: Path, file: Path) -> None:
        StreamsRuntimeError.__init__(
            self,
            f"{root} cannot be the state directory: {file} is a file. "
            "Move the file away, or name a directory with STREAMS_HOME.",
        )


class CatalogError(StreamsRuntimeError):
    """The catalog cannot be read or written."""


class CatalogPlaceError(CatalogError):
    """STREAMS_CATALOG cannot be used; its value is not repeated, since it may hold a password."""

    def __init__(self, reason: str, remedy: str = "Correct the variable, or unset it.") -> None:
        super().__init__(f"{CATALOG}: {reason}. {remedy}")


class CatalogVersionError(CatalogError):
    """The catalog's tables are those of another version of the product."""


class CatalogMissingError(CatalogError):
    """The database holds no catalog."""


class CatalogUnavailableError(CatalogError):
    """For now the catalog cannot be used; nothing was changed, and what was asked may be asked again."""


class CatalogBusyError(CatalogUnavailableError):
    """Another process holds the catalog's write lock for too long."""

    def __init__(self, place: object, seconds: float, search: str) -> None:
        super().__init__(
            f"{place}: the catalog stayed locked by another process for {seconds:g} s. "
            f"Nothing was changed. Find the process that holds it ({search}), or try again."
        )


class CatalogLostError(CatalogUnavailableError):
    """The connection to the catalog was lost, or could not be made."""

    def __init__(self, place: object, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"{place}: the catalog cannot be reached: {reason}. Nothing was changed. "
            "See that the server runs and can be reached, then try again."
        )


class CommitUnknownError(CatalogUnavailableError):
    """The connection was lost while a transaction was committed: it may have been, or not."""

    def __init__(self, place: object, reason: str) -> None:
        super().__init__(
            f"{place}: the connection to the catalog was lost in the middle of a commit: {reason}. "
            "It was made as a whole or not at all; look (`streams status`) before you try again."
        )


class StaleGenerationError(StreamsRuntimeError):
    """A commit came from a generation that a reset has ended; it was refused and changed nothing."""


class NotDeployedError(StreamsRuntimeError):
    """The application is not known to the catalog."""

    def __init__(self, application: str, known: tuple[str, ...], home: Path) -> None:
        there = f"Deployed there: {', '.join(known)}." if known else "Nothing is deployed there."
        super().__init__(
            f"{application}: no such application in {home}. {there} Deploy it with `streams deploy SPEC`, "
            "or name another state directory with STREAMS_HOME."
        )


class ApplicationChangedError(StreamsRuntimeError):
    """The compiled application differs from the one whose state is kept."""

    def __init__(self, application: str, difference: str) -> None:
        super().__init__(
            f"{application}: the application differs from the one whose state is kept ({difference}). "
            "Run it with --fresh to drop that state and start anew, or go back to the former spec and options."
        )


class NotDeployableError(StreamsRuntimeError):
    """The application compiles but cannot run here."""


class OperatorError(StreamsRuntimeError):
    """An operator raised, or was given parameters or data it cannot work with."""

    def __init__(self, operator: str, message: str) -> None:
        self.operator = operator
        self.reason = message
        super().__init__(f"operator {operator}: {message}")

    def __reduce__(self) -> tuple[type[OperatorError], tuple[str, str]]:
        return type(self), (self.operator, self.reason)


class OutputError(StreamsRuntimeError):
    """An output of a sink cannot become visible."""

    def __init__(self, operator: str, message: str, *, lost: bool = False) -> None:
        self.operator = operator
        self.lost = lost
        """It is gone: trying again does not help."""
        super().__init__(f"operator {operator}: {message}")


class HostLaunchError(StreamsRuntimeError):
    """A host process did not come up."""


class JavaError(StreamsRuntimeError):
    """There is no Java that Spark can run on."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"Spark needs Java {MINIMUM_JAVA} or newer; {found}. "
            "Install it with `sudo apt-get install openjdk-17-jre-headless` (Debian, Ubuntu) or "
            "`brew install openjdk@17` (macOS), or set JAVA_HOME to the directory of one that is installed."
        )
