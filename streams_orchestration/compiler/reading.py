"""Reading of an application's file: a spec in YAML or Python, SPL, or a compiled application of IBM Streams."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams_orchestration.model.application import Application
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.document import read_document
from streams_orchestration.model.loading import validate_document, without_errors
from streams_orchestration.model.python_file import file_of, is_python, read_python
from streams_orchestration.model.spl_options import spl_options

_COMPILED = (".adl", ".sab")


def load_application(path: str | Path) -> Application:
    """Load the application of a file: YAML, Python (`app.py`, `app.py:name`), which is run, SPL, ADL or a bundle.

    Raises:
        ApplicationError: the file cannot be read or the application has errors; all are reported, each with its line.
    """
    read = read_application(path)
    return without_errors(read.application, read.diagnostics)


@dataclass(frozen=True, slots=True)
class ReadSpec:
    """A spec file after it was read."""

    path: Path
    """The path of the spec; for a spec in Python it may end with the name of a variable (`app.py:name`)."""
    application: Application | None
    """The application without the unusable parts of the spec; None if no part is usable."""
    diagnostics: tuple[Diagnostic, ...]
    """The findings on the spec's text, names and declarations."""

    @property
    def name(self) -> str:
        """The application's name, or the name of the file if no part of the spec is usable."""
        return file_of(self.path).stem if self.application is None else self.application.application


def read_application(path: str | Path) -> ReadSpec:
    """Read the file of an application, and run a spec in Python; problems become findings.

    Unusable parts of the spec are left out of the application, so that the compiler can find more errors at once.
    """
    file = Path(path)
    tree, diagnostics = read_tree(file)
    if tree is None:
        return ReadSpec(file, None, tuple(diagnostics))
    application, more = validate_document(tree, f"{file}:1")
    return ReadSpec(file, application, (*diagnostics, *more))


def read_tree(file: Path) -> tuple[Any, list[Diagnostic]]:
    """Return the document of a file and the findings, or None and the reason; run a spec in Python.

    SPL is compiled with the options in `spl_options`, and a file in mixed mode is refused.
    """
    if is_python(file):
        return read_python(file)
    if file.suffix == ".splmm":
        message = (
            f"{file.name} is in mixed mode: it has Perl code that generates SPL; run that code, and name the SPL file "
            "that it generates"
        )
        return None, [Diagnostic.of("SO0704", message, location=f"{file}:1")]
    if file.suffix == ".spl":
        from streams_orchestration.spl.application.document import document_of

        return document_of(file, spl_options.get())
    return _compiled(file) if file.suffix in _COMPILED else read_document(file)


def _compiled(file: Path) -> tuple[Any, list[Diagnostic]]:
    """Return the document of a compiled application, or None and the reason."""
    from streams_orchestration.spl.adl.document import document_of
    from streams_orchestration.spl.adl.errors import AdlError

    try:
        return document_of(file), []
    except AdlError as error:
        return None, [Diagnostic.of("SO0741", str(error), location=f"{file}:{error.line or 1}")]
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else (error.strerror or str(error))
        return None, [Diagnostic.of("SO0001", reason, location=f"{file}:1")]
