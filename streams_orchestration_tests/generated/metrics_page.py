"""Writes the tables of `docs/metrics.md` from the families, for `make docs`."""

from __future__ import annotations

from streams_orchestration.runtime.observing.exposition.families import FAMILIES

BEGIN, END = "<!-- begin: written by make docs -->\n", "<!-- end: written by make docs -->\n"
"""Lines before and after the tables. The rest of the page is written by hand."""


def tables() -> str:
    """Return a Markdown table for every heading, with name, kind, labels and description of each family."""
    parts: list[str] = []
    for heading, families in FAMILIES.items():
        rows = [
            f"| `{each.name}` | {each.kind} | {', '.join(f'`{label}`' for label in each.labels)} | {each.about} |"
            for each in families
        ]
        parts.append("\n".join([f"### {heading}", "", "| metric | kind | labels | what |", "|---|---|---|---|", *rows]))
    return "\n\n".join(parts)


def with_tables(page: str) -> str:
    """Return the page with its tables replaced by the current ones."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}\n{tables()}\n\n{end}{after}"
