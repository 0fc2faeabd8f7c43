"""`streams convert`: an application of IBM Streams, or in Python, as a spec in YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from streams_orchestration.cli.failing import APPLICATION
from streams_orchestration.cli.invocation import write_output
from streams_orchestration.cli.messages import report_diagnostics
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.reading import read_tree
from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.diagnostics import errors_of, in_order


def convert(spec: Path, options: Options, output: Path | None) -> int:
    """Write the document of an application as YAML; return the exit status."""
    tree, diagnostics = read_tree(spec)
    report_diagnostics(in_order(diagnostics))
    if tree is None or errors_of(diagnostics):
        return APPLICATION
    document = _plain(tree)
    if options.name is not None:
        document["application"] = options.name
    write_output([yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)], output)
    return 0


def _plain(value: Any) -> Any:
    if is_mapping(value):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if is_list(value) else value
