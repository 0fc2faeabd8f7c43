"""Errors that can occur while an application runs. Each message names the subject, its place and the remedy.

Every function that opens the catalog of a state directory may raise CatalogError, and StorageSettingError if the
storage is not the one of the catalog (`Catalog.exists`). Docstrings name these errors only if the caller has to tell
them apart from others.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from streams_orchestration.model.names import nearest
from streams_orchestration.model.secrets import masked

if TYPE_CHECKING:
    from streams_orchestration.compiler.redeployment.outcome import Redeployment

MINIMUM_JAVA = 17
"""The oldest Java version that Spark 4 runs on."""
CATALOG = "STREAMS_CATALOG"
"""The variable that names the catalog's place."""


class StreamsRuntimeError(Exception):
    """Base of the errors that a user can fix; the message is complete without a traceback.

    Secrets in the addresses and settings of a message are hidden.
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(masked(each) if isinstance(each, str) else each for each in arguments))


_NETWORK = (errno.ENETDOWN, errno.ENETUNREACH, errno.ENETRESET, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENOTCONN)
"""System error numbers about the network for which Python has no exception of their own."""
_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room"),
    errno.ENOENT: "restore the file",
    **dict.fromkeys((errno.EACCES, errno.EPERM), "give the host's user permission"),
}
"""Number of a system error of a file -> its remedy. The remedy of all others is to repair the disk."""


def explained(error: Exception) -> str:
    """Return the text of an error for users, without a traceback.

    For an `OSError` with a reason of the system, the text has the file or the network, the reason and a remedy. For a
    `StreamsRuntimeError` it is the message. For any other error it is the type and the message, without secrets.
    """
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}: close files and connections in operators, or raise `ulimit -n` of the host"
    if isinstance(error, ConnectionError | TimeoutError | socket.gaierror) or (
        isinstance(error, OSError) and error.errno in _NETWORK
    ):
        if error.strerror:
            return masked(f"the network failed: {error.strerror}; check that the other side runs and can be reached")
    elif isinstance(error, OSError) and error.strerror:
        remedy = _REMEDIES.get(error.errno or 0, "repair the disk")
        return f"{error.filename or 'a file'} could not be written or read: {error.strerror}; {remedy}, then reset"
    return str(error) if isinstance(error, StreamsRuntimeError) else masked(f"{type(error).__name__}: {error}")


class StateDirectoryError(StreamsRuntimeError):
    """The state directory cannot be used."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: the state directory cannot be written: {reason}. "
            "Make room or give it write permission, or name another one with STREAMS_HOME."
        )


class StateDirectoryPlaceError(StateDirectoryError):
    """A file is in the place of the state directory or of one of its parents."""

    def __init__(self, root: Path, file: Path) -> None:
        StreamsRuntimeError.__init__(
            self,
            f"{root} cannot be the state directory: {file} is a file. "
            "Move the file away, or name a directory with STREAMS_HOME.",
        )


class StorageSettingError(StreamsRuntimeError):
    """STREAMS_STORAGE or a setting of its access cannot be used, or the catalog's files are in another storage."""

    def __init__(self, reason: str, remedy: str = "Correct the variable, or unset it.") -> None:
        super().__init__(f"{reason}. {remedy}")


class CatalogError(StreamsRuntimeError):
    """The catalog cannot be read or written."""


class CatalogPlaceError(CatalogError):
    """STREAMS_CATALOG cannot be used; its value is not repeated, since it may hold a password."""

    def __init__(self, reason: str, remedy: str = "Correct the variable, or unset it.") -> None:
        super().__init__(f"{CATALOG}: {reason}. {remedy}")


class CatalogVersionError(CatalogError):
    """The catalog's tables do not have the revision of this version of the product."""


UNREADABLE = (CatalogError, StorageSettingError)
"""The errors of a catalog that cannot be read here, for displays and metrics that do without it."""


class CatalogMissingError(CatalogError):
    """The database holds no catalog."""


class CatalogDamagedError(CatalogError):
    """The content of the catalog's database is damaged."""

    def __init__(self, place: object, reason: str) -> None:
        super().__init__(
            f"{place}: the catalog is damaged: {reason}. Stop the applications that use it, and keep a copy of the "
            "file. Then replace it by an earlier copy, or by the data that `sqlite3 FILE .recover` can still read; or "
            "move the state directory away and start over."
        )


class CatalogUnavailableError(CatalogError):
    """The catalog cannot be used at present.

    Except in a `CommitUnknownError`, nothing was changed, and the call may be repeated.
    """


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
            f"{place}: the catalog cannot be reached: {reason}. Nothing was changed. Check that the server runs and "
            "can be reached, then try again."
        )


class CommitUnknownError(CatalogUnavailableError):
    """The connection was lost during a commit, so it is unknown whether the transaction took effect."""

    def __init__(self, place: object, reason: str) -> None:
        super().__init__(
            f"{place}: the connection to the catalog was lost in the middle of a commit: {reason}. "
            "The commit was made completely or not at all; check `streams status` before you try again."
        )


class StaleGenerationError(StreamsRuntimeError):
    """A commit is not of the current life, generation and batch, or its unit waits for a reset; it changed nothing."""


class BeingStartedError(StreamsRuntimeError):
    """Another process starts, redeploys or otherwise changes the application, and holds its start lock."""

    def __init__(self, application: str, starter: object | None, lock: Path | str) -> None:
        who = str(starter) if starter is not None else f"another process, which has locked {lock},"
        super().__init__(
            f"{application}: {who} is starting it at this moment. Nothing was changed. "
            f"Wait until it runs, or end that process; `streams status {application}` shows how far it is."
        )


class NotDeployedError(StreamsRuntimeError):
    """The application is not known to the catalog."""

    def __init__(self, application: str, known: tuple[str, ...], home: Path) -> None:
        there = f"Deployed there: {', '.join(known)}{nearest(application, known)}."
        there = there if known else "Nothing is deployed there."
        super().__init__(
            f"{application}: no such application in {home}. {there} Deploy it with `streams deploy SPEC`, "
            "or name another state directory with STREAMS_HOME."
        )


class UnitRemovedError(StreamsRuntimeError):
    """A unit is not in the plan of its application, which was redeployed meanwhile."""

    def __init__(self, application: str, unit: str) -> None:
        super().__init__(
            f"{application}: the unit {unit} no longer exists, since the application was redeployed meanwhile. "
            f"`streams status {application}` lists its units."
        )


class NothingFailedError(StreamsRuntimeError):
    """A reset without the name of a unit found no failed unit."""

    def __init__(self, application: str, units: tuple[str, ...]) -> None:
        super().__init__(
            f"{application}: nothing has failed. To reset a unit nevertheless, name it with --unit: {', '.join(units)}."
        )


class ApplicationChangedError(StreamsRuntimeError):
    """The compiled application differs from the deployed one, to which the kept state belongs."""

    def __init__(self, application: str, difference: str, *, complete: bool) -> None:
        remedy = (
            "It is complete, so nothing can continue with the new plan: start over with --fresh, which drops "
            "its state and its published results, or go back to the former spec and options."
            if complete
            else "`streams redeploy SPEC` deploys the new plan with the state, `streams redeploy SPEC --dry-run` "
            "previews it. Or drop the state with --fresh, or go back to the former spec and options."
        )
        super().__init__(
            f"{application}: the application differs from the deployed one, whose state is kept ({difference}). "
            f"{remedy}"
        )


class OtherVersionError(StreamsRuntimeError):
    """The deployed application was compiled by another version of the product, and cannot be read."""

    def __init__(self, application: str) -> None:
        super().__init__(
            f"{application} was deployed by another version of the product, whose plan this one cannot read. "
            "Continue with that version, or start over with --fresh, which drops its state and its published results."
        )


class NotDeployableError(StreamsRuntimeError):
    """The application compiles but cannot run here, or is complete, so that no other plan can replace its plan."""


class OutputError(StreamsRuntimeError):
    """An output of a sink cannot become visible."""

    def __init__(self, operator: str, message: str, *, lost: bool = False, refused: bool = False) -> None:
        self.operator = operator
        self.reason = masked(message)
        """The message without the operator, for the row of the sink in the catalog."""
        self.permanent = lost or refused
        """True if the file of the output is lost, or its destination refuses it permanently, so that a retry does not
        help."""
        super().__init__(f"operator {operator}: {message}")


class UnusableFilesError(StreamsRuntimeError):
    """A host ends since it could not use files of its machine for long."""


class HostLaunchError(StreamsRuntimeError):
    """A host process could not be started, or did not come up."""


class HostStartError(HostLaunchError):
    """The process of a host could not be started, or ended at once."""

    def __init__(self, host: int, application: str, reason: str, log: str | None = None) -> None:
        self.reason = reason
        """The message without the host and its log, for the row of the host in the catalog: a clause without a subject.
        """
        place = "" if log is None else f" (log: {log})"
        super().__init__(f"host {host} of {application} {reason}{place}")


class MachineError(StreamsRuntimeError):
    """A machine cannot be registered, drained or removed, its hosts cannot be moved, or its agent does not answer."""


class NoMachineError(HostLaunchError):
    """No registered machine takes a host."""

    def __init__(self, required: str, reasons: Mapping[str, str]) -> None:
        why = "; ".join(f"{machine} {reason}" for machine, reason in reasons.items())
        super().__init__(f"{required} is needed, and {why}. See `streams machines`, and start one with `streams agent`")


class WaitingForMachineError(HostLaunchError):
    """Hosts of an application wait until a machine takes them."""

    def __init__(self, application: str, reasons: Mapping[int, str]) -> None:
        why = "; ".join(f"host {host}: {reason}" for host, reason in reasons.items())
        super().__init__(f"{application} is WAITING: {why}. It starts by itself as soon as there is a suitable machine")


class JavaError(StreamsRuntimeError):
    """There is no Java that Spark can run on."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"Spark needs Java {MINIMUM_JAVA} or newer; {reason}. "
            "Install it with `sudo apt-get install openjdk-17-jre-headless` (Debian, Ubuntu) or "
            "`brew install openjdk@17` (macOS), or set JAVA_HOME to the directory of one that is installed."
        )


class RedeployRefusedError(StreamsRuntimeError):
    """State would be lost, or cannot be converted for the new plan; nothing was changed."""

    def __init__(self, redeployment: Redeployment) -> None:
        message = f"{redeployment.application} is unchanged, since the new plan would lose state:"
        message += redeployment.losses
        super().__init__(message)
        self.redeployment = redeployment


class RevertedError(StreamsRuntimeError):
    """The new plan failed its trial, and the previous plan was restored."""

    def __init__(self, redeployment: Redeployment, cause: str) -> None:
        super().__init__(
            f"{redeployment.application}: the new plan failed its trial and was reverted, so the previous plan runs "
            f"again, from its cut: {cause}"
        )
        self.redeployment = redeployment
        self.cause = cause
