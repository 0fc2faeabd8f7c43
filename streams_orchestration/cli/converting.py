"""`streams convert`: an application of IBM Streams, or in Python, as a spec in YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from streams_orchestration.cli.failures import APPLICATION
from streams_orchestration.cli.invocation import write_output
from streams_orchestration.cli.messages import report_diagnostics
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.reading import read_tree
from streams_orchestration.model.containers import plain_value
from streams_orchestration.model.diagnostics import errors_of, in_order


def convert(spec: Path, options: Options, output: Path | None) -> int:
    """Write the document of an application as YAML, unless it has errors, and report these; return the exit status.

    Raises BadParameter if `output` cannot be written.
    """
    tree, diagnostics = read_tree(spec)
    report_diagnostics(in_order(diagnostics))
    if tree is None or errors_of(diagnostics):
        return APPLICATION
    document = plain_value(tree)
    if options.name is not None:
        document["application"] = options.name
    write_output([yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)], output)
    return 0


class _Dumper(yaml.SafeDumper):
    """A writer of texts with several lines as blocks, and of lists of whole numbers on one line."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature of the library
        """Return True: no value refers to another one."""
        return True


def _text(_dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def _list(dumper: _Dumper, values: list[Any]) -> yaml.SequenceNode:
    numbers = bool(values) and all(type(each) is int for each in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=numbers)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
