"""The document of an application in SPL, with all mistakes in its files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from streams_orchestration.model.diagnostics import Diagnostic, errors_of, in_order
from streams_orchestration.model.document import LocatedMapping
from streams_orchestration.model.location import Location
from streams_orchestration.model.names import application_name_of, nearest
from streams_orchestration.model.spl_options import SplOptions
from streams_orchestration.spl.application.companion import companion_of
from streams_orchestration.spl.application.deployment_checks import deployment_findings
from streams_orchestration.spl.application.expansion import Expansion
from streams_orchestration.spl.application.file_checks import check_file
from streams_orchestration.spl.application.fixed_arguments import with_fixed_arguments
from streams_orchestration.spl.application.found_operators import CompositeOperator
from streams_orchestration.spl.application.intrinsics import Intrinsics
from streams_orchestration.spl.application.names import Files
from streams_orchestration.spl.application.native_operators import NativeOperators
from streams_orchestration.spl.application.natives import Natives
from streams_orchestration.spl.application.submission import Submission, check_defaults, divided_names
from streams_orchestration.spl.application.values import (
    SUBMISSION,
    SUBMISSION_LIST,
    UnknownValue,
    constant,
    submission_call,
)
from streams_orchestration.spl.language.tree import qualified
from streams_orchestration.spl.toolkits.search import BUNDLED, Toolkits
from streams_orchestration.spl.toolkits.units import LoadedUnit, load, root_of
from streams_orchestration.spl.types.types import RSTRING
from streams_orchestration.spl.typing.spans import Mistake, mistake_reporter
from streams_orchestration.spl.typing.typed import Call, Constant, Expression, ListOf

MOST_MISTAKES = 100
PATH = "STREAMS_SPLPATH"
"""The environment variable with directories of toolkits, which are searched last."""


def document_of(path: Path, options: SplOptions) -> tuple[LocatedMapping | None, list[Diagnostic]]:
    """Return the document of a file of SPL, or None if it has errors; report the findings as the second value.

    A file that cannot be read is a finding, too. If the main composite is known, the findings are in order, and at
    most `MOST_MISTAKES`.
    """
    try:
        unit = load(path, str(path))
    except FileNotFoundError:
        return None, [Diagnostic.of("SO0001", "there is no such file", location=Location(str(path), 1))]
    except OSError as error:
        return None, [Diagnostic.of("SO0001", error.strerror or str(error), location=Location(str(path), 1))]
    except UnicodeDecodeError as error:
        message = f"byte {error.object[error.start]:#04x} is not UTF-8 text"
        return None, [Diagnostic.of("SO0002", message, location=Location(str(path), 1))]
    diagnostics = [
        Diagnostic.of(each.code, each.message, location=Location(str(path), each.line, each.column))
        for each in unit.findings
    ]
    companion, wrong = companion_of(path, options)
    options = companion.options
    diagnostics += wrong
    toolkits, wrong = _toolkits(unit, options)
    diagnostics += wrong
    main = _main(unit, options, toolkits, diagnostics)
    if main is None:
        return None, diagnostics
    data = _data(toolkits, options)
    directories = {
        "getApplicationDir": toolkits.roots[0],
        "getThisToolkitDir": toolkits.roots[0],
        "dataDirectory": data,
        "getMainCompositeName": main.kind,
        "getApplicationName": main.kind,
    }

    def expanded(submission: Submission) -> tuple[LocatedMapping, Expansion, Natives]:
        intrinsics = Intrinsics()

        def known(call: Call) -> Expression | None:
            if (value := intrinsics.value(call)) is not None:
                return value
            directory = directories.get(call.signature.name)
            if directory is not None and not call.arguments:
                return Constant(call.span, RSTRING, str(directory))
            return _known(with_fixed_arguments(call, mistakes), options, submission)

        mistakes: list[Mistake] = []
        natives = Natives(companion.functions, companion.file)
        files = Files(toolkits, known, mistakes, natives)
        operators = NativeOperators(companion.operators, companion.file)
        expansion = Expansion(files, mistakes, submission, data, operators, intrinsics)
        return expansion.document(main, application_name_of(main.kind), str(path)), expansion, natives

    submission = Submission()
    document, expansion, natives = expanded(submission)
    if (divided := divided_names(submission, toolkits.loaded)) is not None:
        submission = Submission(divided)
        document, expansion, natives = expanded(submission)
    files, mistakes = expansion.files, expansion.mistakes
    named = frozenset(name.rpartition("::")[0] for name in (*companion.functions, *companion.operators))
    check_file(files.names(unit), named, mistake_reporter(unit.source, mistakes))
    check_defaults(submission, toolkits.loaded, mistakes)
    mistakes += natives.mistakes
    before = len(mistakes)
    _check_unused(unit, expansion)
    unused = errors_of(_diagnostics(mistakes[before:]))
    found = [*diagnostics, *_diagnostics(mistakes[:before]), *unused]
    if not errors_of(found):
        return document, list(in_order(found))[:MOST_MISTAKES]
    found += deployment_findings(document, toolkits.loaded, found)
    return None, list(in_order(found))[:MOST_MISTAKES]


def _toolkits(unit: LoadedUnit, options: SplOptions) -> tuple[Toolkits, list[Diagnostic]]:
    findings: list[Diagnostic] = []
    root = root_of(unit.path.absolute(), unit.namespace)
    if root is None:
        message = f"the namespace {unit.namespace} does not match the directory of the file"
        findings.append(Diagnostic.of("SO0703", message, location=Location(unit.source.file, 1)))
        root = unit.path.absolute().parent
    others = [Path(each) for each in os.environ.get(PATH, "").split(os.pathsep) if each]
    for each in (*options.toolkits, *others):
        if not each.is_dir():
            findings.append(Diagnostic.of("SO0703", f"the toolkit directory {each} does not exist"))
    toolkits = Toolkits((root, *(each.absolute() for each in (*options.toolkits, *others)), BUNDLED), Path.cwd())
    toolkits.add(unit)
    return toolkits, findings


def _data(toolkits: Toolkits, options: SplOptions) -> Path:
    """Return the directory of relative input files: from the options, else `data` in the toolkit, else its root."""
    if options.data is not None:
        return options.data.absolute()
    data = toolkits.roots[0] / "data"
    return data if data.is_dir() else toolkits.roots[0]


def _main(
    unit: LoadedUnit, options: SplOptions, toolkits: Toolkits, diagnostics: list[Diagnostic]
) -> CompositeOperator | None:
    """Return the main composite: the one that the options name, else the only possible one of the file, else `Main`.

    Return None after reporting the reason. Without a name in the options, nothing is reported after earlier errors.
    """
    able = {
        each.name.name: each
        for each in unit.composites()
        if not each.inputs and not each.outputs and all(formal.default is not None for formal in each.formals)
    }
    location = Location(unit.source.file, 1)
    if options.main is not None:
        namespace, _, name = options.main.rpartition("::")
        units = [unit, *toolkits.units_of(namespace or unit.namespace)]
        for of in units:
            for composite in of.composites():
                if qualified(of.namespace, composite.name.name) in (options.main, f"{unit.namespace}::{options.main}"):
                    return _checked(CompositeOperator(of, composite), diagnostics)
        known = [qualified(of.namespace, each.name.name) for of in units for each in of.composites()]
        message = f"there is no composite {options.main}{nearest(options.main, known)}"
        diagnostics.append(Diagnostic.of("CDISP0440E", message, location=location))
        return None
    name = next(iter(able)) if len(able) == 1 else "Main" if "Main" in able else None
    if name is not None:
        return CompositeOperator(unit, able[name])
    if not any(each.severity == "error" for each in diagnostics):
        listed = ", ".join(qualified(unit.namespace, each) for each in sorted(able))
        message = f"there are several main composites: {listed}" if able else "there is no main composite"
        diagnostics.append(Diagnostic.of("SO0702", message, location=location))
    return None


def _checked(main: CompositeOperator, diagnostics: list[Diagnostic]) -> CompositeOperator | None:
    composite = main.composite
    missing = [each.name.name for each in composite.formals if each.default is None]
    if not (composite.inputs or composite.outputs or missing):
        return main
    reason = f"the parameters {', '.join(missing)} have no default" if missing else "it has ports"
    line, column = main.unit.source.place(composite.name.first)
    message = f"{main.kind} is not a main composite: {reason}"
    diagnostics.append(Diagnostic.of("CDISP0522E", message, location=Location(main.unit.source.file, line, column)))
    return None


def _known(call: Call, options: SplOptions, submission: Submission) -> Expression | None:
    """Return the value of a call such as `getSubmissionTimeValue` or `getCompileTimeValue`; None for other calls.

    None, too, if the name or the default is not constant, or the options do not define a compile-time value without a
    default (or any list). Submission-time values are recorded, with their defaults.
    """
    name = call.signature.name
    arguments = call.arguments
    key = arguments[0].value if arguments and isinstance(arguments[0], Constant) else None
    if name in (SUBMISSION, SUBMISSION_LIST) and isinstance(key, str):
        key = submission.name(call.span, key)
        if len(arguments) > 1:
            try:
                default = constant(arguments[1])
                submission.defaults.setdefault(key, default)
                submission.noted.append((call.span, key, default))
            except UnknownValue:
                return None
        submission.types.setdefault(key, "rstring")
        return submission_call(call, key)
    if name == "getCompileTimeValue" and isinstance(key, str):
        if key in options.define:
            return Constant(call.span, RSTRING, options.define[key])
        return arguments[1] if len(arguments) > 1 else None
    if name == "getCompileTimeListValue" and isinstance(key, str) and key in options.define:
        parts: Sequence[str] = options.define[key].split(",")
        return ListOf(call.span, call.type, tuple(Constant(call.span, RSTRING, part) for part in parts))
    return None


def _check_unused(unit: LoadedUnit, used: Expansion) -> None:
    """Report the mistakes in those composites of a file that an expansion has left out."""
    operators = NativeOperators(used.operators.given, used.operators.companion)
    checking = Expansion(
        used.files, used.mistakes, Submission(), used.data, operators, used.intrinsics, checks_only=True
    )
    for each in unit.composites():
        if (unit.path, each.first) not in used.expanded:
            checking.check(CompositeOperator(unit, each))


def _diagnostics(mistakes: list[Mistake]) -> list[Diagnostic]:
    found: dict[tuple[str, str, str], Diagnostic] = {}
    once: set[str] = set()
    for each in mistakes:
        location = Location(each.span.source.file, each.span.line, each.span.column)
        if each.code == "SO0723" and each.message in once:
            continue
        once.add(each.message)
        key = (each.code, each.message, str(location))
        message = f"{each.message}, {each.within}" if each.within else each.message
        found.setdefault(key, Diagnostic.of(each.code, message, location=location))
    return list(found.values())
