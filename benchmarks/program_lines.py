"""The length of the flights job, here and elsewhere: `python -m benchmarks.program_lines`.

The figures count the lines that are neither empty, nor only a comment or a docstring, and the statements of Python; a
text of SQL is one statement. Of the other programs, only the parts below and the imports that these need count, and not
the code that starts, sets up and measures them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).parent.parent
PEERS = ROOT / "benchmarks" / "peers"
PARTS = {
    "PySpark, SQL in one query": (
        "spark_query.py", ("FLIGHTS", "STATISTICS", "read", "named_by_sql", "statistics", "Path", "TemporaryDirectory",
                           "SparkSession"),
    ),
    "Flink, SQL of its Table API": (
        "flink_flights.py", ("FLIGHTS", "AIRLINES", "DELAYS", "STATISTICS", "main", "TableEnvironment"),
    ),
    "Bytewax": (
        "bytewax_flow.py", ("flow", "documented", "add", "csv", "json", "Path", "bytewax.operators", "CSVSource",
                            "Dataflow", "KeyedStream", "Total"),
    ),
}  # fmt: skip
"""Program -> its file, and the parts that are the job: names of functions, constants and imports."""


def lengths() -> dict[str, tuple[int | None, int]]:
    """Return program -> its statements, None for YAML, and its lines."""
    page = (ROOT / "docs" / "python.md").read_text()
    python = next(block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "Application(" in block)
    yaml = (ROOT / "specs" / "flights.yaml").read_text().splitlines()
    lengths: dict[str, tuple[int | None, int]] = {"here, Python": length(python)}
    lengths["here, YAML"] = (None, sum(is_code(line) for line in yaml))
    return lengths | {name: length((PEERS / file).read_text(), parts) for name, (file, parts) in PARTS.items()}


def length(text: str, parts: tuple[str, ...] = ()) -> tuple[int, int]:
    """Return the statements and lines of a program, or of some of its parts."""
    lines = text.splitlines()
    statements, counted = 0, 0
    for part in ast.parse(text).body:
        if is_docstring(part) or (parts and not set(names(part)) & set(parts)):
            continue
        nodes = list(ast.walk(part))
        words = {
            line for node in nodes if is_docstring(node) for line in range(node.lineno, (node.end_lineno or 0) + 1)
        }
        statements += sum(isinstance(node, ast.stmt) and not is_docstring(node) for node in nodes)
        span = range(part.lineno, (part.end_lineno or part.lineno) + 1)
        counted += sum(is_code(lines[line - 1]) for line in span if line not in words)
    return statements, counted


def names(part: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module defines or imports."""
    if isinstance(part, ast.Import | ast.ImportFrom):
        yield from (alias.name for alias in part.names)
    elif isinstance(part, ast.FunctionDef | ast.ClassDef):
        yield part.name
    elif isinstance(part, ast.Assign):
        yield from (target.id for target in part.targets if isinstance(target, ast.Name))


def is_docstring(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Return True for an unused literal text."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_code(line: str) -> bool:
    """Return True if a line has more than a comment."""
    return bool(line.strip()) and not line.strip().startswith("#")


if __name__ == "__main__":
    for program, (statements, lines) in lengths().items():
        print(f"{program:<30}{statements or '':>6}{lines:>6}")
