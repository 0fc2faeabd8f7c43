"""The tables of `docs/metrics.md`, written from the families: `make docs`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from streams_orchestration.runtime.observing.exposition.families import FAMILIES

PAGE = Path("docs/metrics.md")
BEGIN, END = "<!-- begin: written by make docs -->\n", "<!-- end: written by make docs -->\n"
"""Lines around the tables; the rest of the page is written by hand."""


def tables() -> str:
    """A table for every heading: name, kind, labels, what it is."""
    parts: list[str] = []
    for heading, families in FAMILIES.items():
        rows = [
            f"| `{each.name}` | {each.kind} | {', '.join(f'`{label}`' for label in each.labels)} | {each.about} |"
            for each in families
        ]
        parts.append("\n".join([f"### {heading}", "", "| metric | kind | labels | what |", "|---|---|---|---|", *rows]))
    return "\n\n".join(parts)


def with_tables(page: str) -> str:
    """The page with the tables as they are now."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}\n{tables()}\n\n{end}{after}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tables into the page that is named, `docs/metrics.md` when none is."""
    named = sys.argv[1:] if arguments is None else arguments
    path = Path(named[0]) if named else PAGE
    path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
