"""The companion of an SPL file, `X.spl.yaml` beside `X.spl`: options for reading it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.document import LocatedMapping, read_document
from streams_orchestration.model.names import nearest
from streams_orchestration.model.spl_options import SplOptions

_KEYS = ("main", "toolkits", "define", "data")


def with_companion(path: Path, options: SplOptions) -> tuple[SplOptions, list[Diagnostic]]:
    """Return the options with those of the companion where the command line gives none.

    Paths in the companion are relative to its directory.
    """
    file = path.with_name(f"{path.name}.yaml")
    if not file.is_file():
        return options, []
    tree, findings = read_document(file)
    if not isinstance(tree, LocatedMapping):
        if tree is not None:
            findings.append(Diagnostic.of("SO0009", "the companion is a mapping", location=f"{file}:1"))
        return options, findings
    for key in tree:
        if key not in _KEYS:
            message = f"there is no key {key}{nearest(key, _KEYS)}"
            findings.append(Diagnostic.of("SO0007", message, location=tree.location(key)))

    def taken(key: str, *, fits: bool, what: str) -> Any:
        if key in tree and not fits:
            findings.append(Diagnostic.of("SO0009", f"{key} is {what}", location=tree.location(key)))
        return tree.get(key) if fits else None

    main, toolkits, define, data = (tree.get(key) for key in _KEYS)
    main = taken("main", fits=isinstance(main, str), what="a text")
    listed = is_list(toolkits) and all(isinstance(each, str) for each in toolkits)
    toolkits = taken("toolkits", fits=listed, what="a list of directories")
    given: dict[str, Any] = taken("define", fits=is_mapping(define), what="a mapping") or {}
    data = taken("data", fits=isinstance(data, str), what="a directory")
    return (
        SplOptions(
            options.main or main,
            (*options.toolkits, *(path.parent / each for each in toolkits or ())),
            {key: str(value) for key, value in given.items()} | dict(options.define),
            options.data or (None if data is None else path.parent / data),
        ),
        findings,
    )
