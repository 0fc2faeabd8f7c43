"""The page of all diagnostics, `docs/diagnostics.md`, written from the table of codes by `make docs`."""

from __future__ import annotations

from streams_orchestration.model.codes import Code
from streams_orchestration.model.own_codes import OWN_CODES
from streams_orchestration.model.spl_codes import SPL_CODES
from streams_orchestration.model.streams_codes import STREAMS_CODES

_HEAD = """\
# Diagnostics

Everything that the compiler can say about an application: {errors} errors and {warnings} warnings. All that is found
in one run is reported together, each with its code, operator, file and line, cause and remedy; an application with
errors is not run. `streams explain SPEC CODE` says where a code was raised in an application. Codes that begin with
`CDIS` are message ids of IBM Streams and mean what they mean there; `SO` marks conditions that have no id in it.

This page is written by `make docs` from the table in `streams_orchestration/model`; edit that.
"""

_SECTIONS = {
    "SO00": "Reading the file",
    "SO01": "Names and streams",
    "SO02": "Submission-time values",
    "SO03": "Schemas and ports",
    "SO04": "Annotations and configs",
    "SO05": "Parallel expansion",
    "SO06": "Decoupling problems",
    "SO07": "Applications of IBM Streams",
    "SO08": "Event time",
    "SO10": "Consistent regions",
    "SO11": "Fusion",
    "SO12": "Threading",
    "SO13": "Copying",
    "SO50": "Operators",
}
"""First two digits of the project's own codes -> title of their section."""


def diagnostics_page() -> str:
    """Return the page as Markdown: our own codes by section, then the codes of IBM Streams by number."""
    own = OWN_CODES | {name: code for name, code in SPL_CODES.items() if name.startswith("SO")}
    of_streams = STREAMS_CODES | {name: code for name, code in SPL_CODES.items() if name not in own}
    codes = [*own.values(), *of_streams.values()]
    errors = sum(code.severity == "error" for code in codes)
    parts = [_HEAD.format(errors=errors, warnings=len(codes) - errors)]
    for prefix, title in _SECTIONS.items():
        listed = {name: code for name, code in sorted(own.items()) if name.startswith(prefix)}
        if listed:
            parts.append(_section(title, listed))
    parts.append(_section("Message ids of IBM Streams", dict(sorted(of_streams.items()))))
    return "\n".join(parts)


def _section(title: str, codes: dict[str, Code]) -> str:
    rows = [
        f"| `{name}` | {code.severity} | {_cell(code.cause)} | {_cell(code.remedy)} |" for name, code in codes.items()
    ]
    return "\n".join([f"## {title}", "", "| Code | Severity | Cause | Remedy |", "|---|---|---|---|", *rows, ""])


def _cell(text: str) -> str:
    # outside of code spans, readers of Markdown may take braces, dollars and angle brackets for markup
    return text.replace("|", "\\|").replace("<", "&lt;").replace("${name}", "`${name}`")
