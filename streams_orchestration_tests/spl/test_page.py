"""The example of logic on the page about SPL runs and gives what the page says."""

from __future__ import annotations

import re
from pathlib import Path

from streams_orchestration.builder.testing import run_in_process
from streams_orchestration.compiler.reading import read_tree
from streams_orchestration.model.diagnostics import errors_of
from streams_orchestration.model.spl_options import SplOptions, spl_options

PAGE = (Path(__file__).parents[2] / "docs" / "spl.md").read_text(encoding="utf-8")


def test_the_example_of_logic_gives_the_tuples_that_the_page_names(tmp_path: Path):
    (example,) = re.findall(r"^```spl\n(composite .*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    wanted = re.search(r"^The sink gets (\d+), (\d+) and (\d+)\.$", PAGE, re.MULTILINE)
    assert wanted is not None
    (tmp_path / "Main.spl").write_text(example, encoding="utf-8")
    spl_options.set(SplOptions())
    document, diagnostics = read_tree(tmp_path / "Main.spl")
    assert errors_of(diagnostics) == []
    rows = run_in_process(document, {})["Out"].to_pylist()
    assert rows == [{"n": int(n), "text": f"tuple {n}"} for n in wanted.groups()]
