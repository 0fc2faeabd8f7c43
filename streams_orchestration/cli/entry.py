"""The entry of the command line. An error becomes one message and an exit status, without a traceback."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
import threading
import traceback
from collections.abc import Sequence

import click

from streams_orchestration.cli.commands import streams
from streams_orchestration.cli.failures import APPLICATION, COMMAND_LINE, INTERRUPTED, report
from streams_orchestration.cli.invocation import CommandInvocation, ErrorKind, Verbosity, begun, write_json
from streams_orchestration.cli.output import write
from streams_orchestration.model.secrets import masked
from streams_orchestration.runtime import api

_ended: list[int] = []
"""The exit status of the command for which this process was started, once the command has ended."""


def _keep_s3() -> None:
    """Leave Arrow's client of S3 as it is if a thread still runs, which would crash in a finalized client."""
    if threading.active_count() > 1 and (files := sys.modules.get("pyarrow.fs")) is not None:
        atexit.unregister(files.ensure_s3_finalized)


def _leave() -> None:
    """End the process without finalizing the interpreter if a thread still runs, such as a late record in Dagster.

    The thread may be in compiled code, which crashes in a finalized interpreter.
    """
    if _ended and threading.active_count() > 1:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(_ended[0])


# The interpreter calls the latest function first, so `_leave` follows those that commands register.
atexit.register(_leave)
# A last garbage collection over all that was loaded, Dagster say, would take half a second for nothing.
atexit.register(gc.freeze)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. An error of the command is written as a message, and not raised.

    Args:
        arguments: the words after `streams`; None takes the arguments of this process.

    Returns:
        The exit status.
    """
    status = _run(sys.argv[1:] if arguments is None else list(arguments))
    if arguments is None:
        _ended[:] = [status]
        atexit.register(_keep_s3)  # it is called before what the command has registered, such as Arrow's finalization
    return status


def _run(arguments: list[str]) -> int:
    api.hide_secrets()
    with begun(arguments) as invocation:
        try:
            result = streams.main(arguments, prog_name="streams", standalone_mode=False)
        except click.exceptions.NoArgsIsHelpError as error:
            write(error.format_message(), error=True)
            return COMMAND_LINE
        except click.UsageError as error:
            path, message = error.ctx.command_path if error.ctx else "streams", masked(error.format_message())
            write(f"{path}: {message} See `{path} --help`.", error=True)
            return _document_failure(invocation, COMMAND_LINE, "usage", message)
        except (click.Abort, KeyboardInterrupt):
            message = "Interrupted." + _after_interrupt(invocation)
            write(message, error=True)
            return _document_failure(invocation, INTERRUPTED, "interrupted", message)
        except BrokenPipeError:
            # the reader (`head`) has gone; without this the interpreter would complain while it flushes at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return APPLICATION
        except Exception as error:  # noqa: BLE001  whatever goes wrong becomes a message
            if invocation.verbosity >= Verbosity.VERBOSE or os.environ.get("STREAMS_TRACEBACK") == "1":
                write("".join(traceback.format_exception(error)), error=True, end="")
            return _document_failure(invocation, APPLICATION, *report(error))
        return result if isinstance(result, int) else 0


def _after_interrupt(invocation: CommandInvocation) -> str:
    """Return a sentence on the effect of an interrupted command, or where to see it; empty if it has had none."""
    name = invocation.application
    if not name:
        return ""
    if invocation.command == "redeploy":
        return (
            " If the redeploy had begun, the hosts complete or revert it. "
            "`streams redeploy SPEC --dry-run` shows what still differs."
        )
    if invocation.command == "remove":
        return f" If the removal had begun, repeat `streams remove {name}` to complete it."
    return f" `streams status {name}` shows how far it is."


def _document_failure(invocation: CommandInvocation, status: int, kind: ErrorKind, message: str) -> int:
    """Write the JSON document of a failed command if `--format json` asks for it, and return the exit status.

    If the command has written its document already, nothing is written.
    """
    if invocation.json and not invocation.documented:
        write_json(invocation.document({}, status, kind, message))
    return status
