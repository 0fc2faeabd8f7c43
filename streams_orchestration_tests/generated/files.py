"""The pages and modules that `make docs` writes from tables and docstrings.

Run as a program, this module writes all of them into the working directory, the root of the repository.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streams_orchestration.compiler.tour import tour_page
from streams_orchestration_tests.generated import functions_source, operators_source
from streams_orchestration_tests.generated.diagnostics_page import diagnostics_page
from streams_orchestration_tests.generated.functions_page import functions_page
from streams_orchestration_tests.generated.metrics_page import with_tables
from streams_orchestration_tests.generated.operators_page import operators_page

GENERATED: dict[str, Callable[[str], str]] = {
    "docs/diagnostics.md": lambda _: diagnostics_page(),
    "docs/compiler-tour.md": lambda _: tour_page(),
    "docs/standard-operators.md": lambda _: operators_page(),
    "docs/functions.md": lambda _: functions_page(),
    "docs/metrics.md": with_tables,
    "streams_orchestration/builder/operators.py": lambda _: operators_source.source(),
    "streams_orchestration/builder/functions.py": lambda _: functions_source.source(),
}
"""Map each file to the function that makes its text from the text before. The modules are then formatted by ruff."""


if __name__ == "__main__":
    for name, make in GENERATED.items():
        path = Path(name)
        path.write_text(make(path.read_text(encoding="utf-8")), encoding="utf-8")
