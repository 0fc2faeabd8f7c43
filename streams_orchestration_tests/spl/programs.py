"""The SPL programs of the cases."""

from __future__ import annotations

from pathlib import Path

CASES = Path(__file__).parents[1] / "cases"
PROGRAMS = {path.parent.name: path.read_text(encoding="utf-8") for path in sorted(CASES.glob("spl/*/Main.spl"))}
"""The text of each case's `Main.spl`, by the name of the case."""
WELL_FORMED = {name: text for name, text in PROGRAMS.items() if name != "wrong_syntax"}
