"""The standard operators that can run, one module each, named as Streams users know them."""

from __future__ import annotations

STANDARD: dict[str, str] = {
    "Aggregate": "streams_orchestration.operators.standard.aggregate:Aggregate",
    "FileSink": "streams_orchestration.operators.standard.file_sink:FileSink",
    "FileSource": "streams_orchestration.operators.standard.file_source:FileSource",
    "Filter": "streams_orchestration.operators.standard.filter:Filter",
    "Functor": "streams_orchestration.operators.standard.functor:Functor",
}
"""Kind -> `package.module:Class`."""
