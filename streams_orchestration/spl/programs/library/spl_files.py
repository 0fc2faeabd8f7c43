"""`spl.file`: files of the machine on which an operator runs.

A file has a number, which `fopen` returns. A function that may fail assigns 0 or the error number of the operating
system to its last argument; for a failure, the functions below raise OSError, EOFError or ValueError, which `_failing`
turns into the number. A number is valid until the PE starts again.

>>> BUILTINS["isENOENT"][0][1].make((), BOOLEAN)(2)
True
"""

from __future__ import annotations

# pyright: standard
import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.library.registry import BUILTINS, plain, strings_first, typed
from streams_orchestration.spl.programs.library.spl_string import decoded
from streams_orchestration.spl.programs.open_files import OpenFile
from streams_orchestration.spl.programs.values import plain_function
from streams_orchestration.spl.types.text import text_of
from streams_orchestration.spl.types.types import BOOLEAN, TIMESTAMP, Collection, Type, is_string

__all__ = ["BOOLEAN", "BUILTINS"]
END = -1
"""The error number of a read at the end of a file."""
_MODES = frozenset(("r", "w", "a", "r+", "w+", "a+"))
_TIMES = {"atime": "st_atime_ns", "mtime": "st_mtime_ns", "ctime": "st_ctime_ns"}
_FACTS = frozenset(("dev", "rdev", "ino", "mode", "nlink", "uid", "gid", "size", "blksize", "blocks"))


def _attempt(act: Callable[[], tuple[Any, ...]], failed: Any, kept: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Return the result and the assigned values of a call, followed by its error number.

    Args:
        act: makes the call; it returns the result and the values that arguments get.
        failed: the result of a call that fails.
        kept: the values that arguments keep if the call fails.
    """
    try:
        return *act(), 0
    except EOFError:
        return failed, *kept, END
    except OSError as error:
        return failed, *kept, error.errno or errno.EIO
    except ValueError:
        return failed, *kept, errno.EINVAL


def _failing(
    failed: Any, *names: str, assigns: tuple[int, ...], **more: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that registers a function of SPL whose last argument gets the error number.

    Args:
        failed: the result of a call that fails.
        names: the names of the function in SPL.
        assigns: the positions of the arguments that get values; the error number is the last one.
        more: further arguments of `plain`.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(run: Any, *arguments: Any) -> tuple[Any, ...]:
            kept = [arguments[each] for each in assigns[:-1]]
            return _attempt(lambda: function(run, *arguments), failed, kept)

        plain(*names, run=True, assigns=assigns, **more)(call)
        return function

    return register


def _path(run: Any, name: str) -> Path:
    """Return the path of a file; a relative name starts from the data directory."""
    return Path(run.data_directory, name)


@_failing(None, "mkdir", assigns=(2,))
def make_directory(run: Any, name: str, mode: int, _: int) -> tuple[None]:
    """Make a directory with a file mode, such as 0o755."""
    return (_path(run, name).mkdir(mode),)


@_failing(None, "remove", assigns=(1,), when=strings_first, first=True)
def remove(run: Any, name: str, _: int) -> tuple[None]:
    """Remove a file or an empty directory."""
    path = _path(run, name)
    return (path.rmdir() if path.is_dir() else path.unlink(),)


@_failing(0, "fopen", assigns=(2,))
def open_file(run: Any, name: str, mode: str, _: int) -> tuple[int]:
    """Open a file in a mode of C's `fopen`, and return the number by which other functions refer to the file.

    Raises:
        ValueError: the mode does not exist in C.
    """
    plain_mode = mode.replace("b", "")
    if plain_mode not in _MODES:
        raise ValueError
    return (run.files.open(_path(run, name), plain_mode),)


@_failing(END, "fclose", assigns=(1,))
def close_file(run: Any, number: int, _: int) -> tuple[int]:
    """Close the open file with a number; return 0."""
    run.files[number].stream.close()
    del run.files.files[number]
    return (0,)


@_failing(END, "fflush", assigns=(1,))
def flush_file(run: Any, number: int, _: int) -> tuple[int]:
    """Pass all written bytes of an open file from the program's buffer to the operating system; return 0."""
    run.files[number].stream.flush()
    return (0,)


@_failing(END, "ftell", assigns=(1,))
def position_of(run: Any, number: int, _: int) -> tuple[int]:
    """Return the position in an open file, in bytes from its beginning."""
    return (run.files[number].stream.tell(),)


@_failing(None, "fseek", assigns=(3,))
def seek(run: Any, number: int, offset: int, whence: int, _: int) -> tuple[None]:
    """Move the position in an open file by `offset` bytes from its beginning, the current position or its end."""
    opened = run.files[number]
    opened.stream.seek(offset, whence)
    opened.ended = False
    return (None,)


plain("optSEEK_SET")(lambda: os.SEEK_SET)
plain("optSEEK_CUR")(lambda: os.SEEK_CUR)
plain("optSEEK_END")(lambda: os.SEEK_END)


def _opened(run: Any, number: int) -> OpenFile:
    """Return the open file with a number, for functions that report no error number."""
    try:
        return run.files[number]
    except OSError as error:
        message = f"file {number}: {error.strerror}; open it with fopen, and again after a restart of the PE"
        raise RunError(message) from None


@plain("rewind", run=True)
def rewind(run: Any, number: int) -> None:
    """Move the position in an open file to its beginning. Raises RunError if there is no open file of this number."""
    _opened(run, number)
    seek(run, number, 0, os.SEEK_SET, 0)


@plain("feof", run=True)
def is_at_end(run: Any, number: int) -> bool:
    """Return True if a read has reached the end of an open file.

    Raises RunError if there is no open file of this number.
    """
    return _opened(run, number).ended


@plain("clearerr", run=True)
def clear_end(run: Any, number: int) -> None:
    """Reset the end-of-file indicator of an open file. Raises RunError if there is no open file of this number."""
    _opened(run, number).ended = False


@typed("fstat", run=True, assigns=(2, 3))
def _fstat(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    named, of_time = is_string(types[0]), types[2] == TIMESTAMP

    def fstat(run: Any, file: Any, what: str, value: int, _: int) -> tuple[Any, ...]:
        def act() -> tuple[None, int]:
            if what not in (_TIMES if of_time else _FACTS):
                raise ValueError
            found = _path(run, file).stat() if named else os.fstat(run.files[file].stream.fileno())
            return None, getattr(found, _TIMES[what] if of_time else f"st_{what}")

        return _attempt(act, None, [value])

    return fstat


@_failing(None, "fwriteString", assigns=(2,))
def write_text(run: Any, text: str, number: int, _: int) -> tuple[None]:
    """Write a text in UTF-8 to an open file."""
    run.files[number].stream.write(text.encode())
    return (None,)


@typed("fwriteTxt", run=True, assigns=(2,))
def _fwrite_txt(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    plain_, inside = plain_function(types[0]), Collection("list", (types[0],))

    def fwrite_txt(run: Any, value: Any, number: int, _: int) -> tuple[Any, ...]:
        text = text_of([plain_(value)], inside)[1:-1]
        return _attempt(lambda: write_text(run, text, number, 0), None)

    return fwrite_txt


@_failing(None, "fwrite", assigns=(4,))
def write_bytes(run: Any, data: list[int], number: int, offset: int, length: int, _: int) -> tuple[None]:
    """Write `length` elements of a list of bytes, from the index `offset` on, or fewer if the list ends before."""
    run.files[number].stream.write(bytes(data[offset : offset + length]))
    return (None,)


@_failing(None, "fwriteblob", assigns=(2,))
def write_blob(run: Any, data: bytes, number: int, _: int) -> tuple[None]:
    """Write all bytes of a blob to an open file."""
    run.files[number].stream.write(data)
    return (None,)


@_failing("", "freadLine", assigns=(1,))
def read_line(run: Any, number: int, _: int) -> tuple[str]:
    """Read the next line of an open file, and return it without the line break; note if the file is at its end.

    Raises:
        EOFError: the file is at its end.
        RunError: the line is not UTF-8.
    """
    opened = run.files[number]
    line = opened.stream.readline()
    opened.ended = opened.ended or not line.endswith(b"\n")
    if not line:
        raise EOFError
    return (decoded(line.removesuffix(b"\n")),)


@_failing("", "freadToken", assigns=(1,))
def read_token(run: Any, number: int, _: int) -> tuple[str]:
    """Read the next word of an open file, up to the white space behind it, which stays unread.

    Raises:
        EOFError: the rest of the file has no word.
        RunError: the word is not UTF-8.
    """
    opened, token = run.files[number], bytearray()
    while byte := opened.read(1):
        if not byte.isspace():
            token += byte
        elif token:
            opened.stream.seek(-1, os.SEEK_CUR)
            break
    if not token:
        raise EOFError
    return (decoded(bytes(token)),)


@_failing(0, "fread", assigns=(0, 3))
def read_bytes(run: Any, _list: list[int], number: int, length: int, _: int) -> tuple[int, list[int]]:
    """Read at most `length` bytes of an open file.

    Return their number, and the bytes, which are assigned to the first argument.

    Raises:
        EOFError: the file is at its end.
    """
    data = run.files[number].read(length)
    if length and not data:
        raise EOFError
    return len(data), list(data)


@_failing(None, "freadfile", assigns=(0, 2))
def read_blob(run: Any, _blob: bytes, number: int, _: int) -> tuple[None, bytes]:
    """Read a whole open file from its beginning; return its bytes, which are assigned to the first argument."""
    stream = run.files[number].stream
    stream.seek(0)
    return None, stream.read()


@plain("mktemp", run=True)
def unused_name(run: Any, template: str) -> str:
    """Return the name of a file that does not exist: the template, without a last XXXXXX, and six random letters."""
    while True:
        name = template.removesuffix("XXXXXX") + "".join(chr(ord("a") + int(run.random() * 26)) for _ in range(6))
        if not _path(run, name).exists():
            return name


plain("isEOF")(lambda number: number == END)
for _name in (
    *("EACCES", "EAGAIN", "EBADF", "EFAULT", "EFBIG", "EINTR", "EINVAL", "EIO", "EISDIR", "EMFILE", "ENFILE", "ELOOP"),
    *("ENAMETOOLONG", "ENODEV", "ENOENT", "ENOMEM", "ENOSPC", "ENOTDIR", "ENXIO", "EOVERFLOW", "EPIPE", "EPERM"),
    *("EROFS", "ESPIPE", "ETXTBSY", "EWOULDBLOCK"),
):
    plain(f"is{_name}")(getattr(errno, _name).__eq__)
