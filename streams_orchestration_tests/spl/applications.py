"""Applications of SPL as data: cases with results, plans or mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

CASES = Path(__file__).parents[1] / "cases" / "spl"
EXPECTED: dict[str, dict[str, Any]] = {
    path.parent.name: yaml.safe_load(path.read_text("utf-8")) for path in sorted(CASES.glob("*/expected.yaml"))
}
MISTAKES: list[dict[str, Any]] = yaml.safe_load((CASES.parent / "spl_applications.yaml").read_text("utf-8"))
"""Mistakes that an application has as a whole, with its files."""


def of_kind(*kinds: str) -> list[str]:
    """Return the names of the cases of some kinds."""
    return [name for name, case in EXPECTED.items() if case["kind"] in kinds]
