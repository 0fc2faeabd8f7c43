"""Specs in Python: `app.py`, or `app.py:name` if the application's variable is not called `app`.

The file is executed, and the application in that variable is converted to a document. The elements of the document know
their lines in the file.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.location import Location
from streams_orchestration.model.names import nearest

_SPEC = re.compile(r"(?P<file>.*\.py)(?::(?P<name>[A-Za-z_]\w*))?", re.DOTALL)
_APPLICATION = "app"
_MARK = "__makes_application__"
"""The attribute that marks modules loaded as specs. Loading a spec replaces such a module of the same name."""
_BUILDER = "streams_orchestration.builder"
_KEYWORD = re.compile(r"(?P<function>[\w.]+)\(\) got an unexpected keyword argument '(?P<word>\w+)'")
"""Matches the error of a call with an unknown keyword; from Python 3.13 on the error may propose another one itself."""


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def file_of(spec: str | Path) -> Path:
    """Return the file of a spec, without the application's name that a spec in Python may have."""
    match = _SPEC.fullmatch(str(spec))
    return Path(match["file"] if match else spec)


def is_python(spec: str | Path) -> bool:
    """Return True if the spec is a Python file, with or without an application's name."""
    return _SPEC.fullmatch(str(spec)) is not None


def specs_in(directory: Path) -> list[Path]:
    """Return the files of a directory that may be specs, sorted by name."""
    return sorted(path for path in directory.glob("*") if may_be_spec(path))


def may_be_spec(file: Path) -> bool:
    """Return True for a YAML file, by its suffix, and for a Python file that contains the name of the builder.

    Other Python files define operators. A Python file that cannot be read is not a spec.
    """
    try:
        return file.suffix in (".yaml", ".yml") or (file.suffix == ".py" and _BUILDER in file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return False


def read_python(spec: str | Path) -> tuple[Any, list[Diagnostic]]:
    """Run a Python file and return its application's document, or None and the reason.

    Without a name in the spec, it is the application called `app`, or else the only one. Output that the file prints
    goes to standard error. The file's module stays loaded, and its directory in the module search path.
    """
    match = _SPEC.fullmatch(str(spec))
    file = file_of(spec)
    if match is None or not file.is_file():
        return None, [_unreadable(file, "there is no such file", code="SO0001")]
    try:
        module = _run(file)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever the code of a user raises
        return None, [_raised(file, error)]
    name: str = match["name"] or _APPLICATION
    application: Any = getattr(module, name, None)
    if not _is_application(application):
        applications = [each for each, value in vars(module).items() if _is_application(value)]
        if match["name"] or len(applications) != 1:
            held = f"; it holds {', '.join(applications)}: write {file.name}:{applications[0]}" if applications else ""
            close = nearest(name, applications) if match["name"] else ""
            message = f"it holds no application called {name}{close or held}"
            return None, [_unreadable(file, message)]
        application = getattr(module, applications[0])
    try:
        return application.document(), []
    except Exception as error:  # noqa: BLE001  the same
        return None, [_raised(file, error)]


def _is_application(value: object) -> bool:
    return not isinstance(value, type) and callable(getattr(value, "document", None))


def _run(file: Path) -> ModuleType:
    """Run a spec file as a new module, make the module importable by its name, and its directory a place of modules.

    Output that the file prints goes to standard error. If the file raises an error, a module that was loaded from an
    earlier spec of the same name stays.
    """
    name, directory = file.stem, str(file.absolute().parent)
    known = sys.modules.get(name)
    if known is not None and not hasattr(known, _MARK) and getattr(known, "__file__", None) != str(file.absolute()):
        message = f"{name} is the name of a module that is loaded already: give the file another name"
        raise ImportError(message)
    if directory not in sys.path:
        sys.path.append(directory)
    module_spec = importlib.util.spec_from_file_location(name, file.absolute())
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    setattr(module, _MARK, True)
    sys.modules[name] = module
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is for documents
            module_spec.loader.exec_module(module)
    except BaseException:
        if known is None:
            del sys.modules[name]
        else:
            sys.modules[name] = known
        raise
    return module


def _raised(file: Path, error: BaseException) -> Diagnostic:
    """Return a diagnostic for an error of the file's code, at its innermost line in the traceback, or at line 1."""
    place = getattr(error, "place", None)
    if place is not None:  # an error of the builder knows its line
        return Diagnostic.of("SO0011", getattr(error, "message", str(error)), location=Location(place.file, place.line))
    line = error.lineno or 1 if isinstance(error, SyntaxError) else 1
    for frame in traceback.extract_tb(error.__traceback__):
        if Path(frame.filename) == file.absolute():
            line = frame.lineno or line
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    if isinstance(error, AttributeError) and error.name:
        message += nearest(error.name, (name for name in dir(error.obj) if not name.startswith("_")))
    if isinstance(error, TypeError) and (match := _KEYWORD.fullmatch(message)) is not None:
        message += nearest(match["word"], _keywords(match["function"]))
    return Diagnostic.of("SO0011", f"{type(error).__name__}: {message}", location=Location(str(file), line))


def _keywords(function: str) -> list[str]:
    """Return the keywords that a function or method of the builder takes; none if the builder has no such function."""
    for name, module in sorted(sys.modules.items()):
        if name == _BUILDER or name.startswith(f"{_BUILDER}."):
            found: Any = module
            for part in function.split("."):
                found = getattr(found, part, None)
            if callable(found):
                parameters = inspect.signature(found).parameters.values()
                return [each.name for each in parameters if each.kind in _BY_NAME and each.name != "self"]
    return []


def _unreadable(file: Path, message: str, code: str = "SO0011") -> Diagnostic:
    return Diagnostic.of(code, message, location=Location(str(file), 1))
