"""Applications in Python: method calls build the same application as a spec in YAML.

Example:
    app = Application("words")
    lines = app.stream(op.FileSource(file="words.txt", format="line"), schema="line string", consistent=consistent(2))
    lines.filter("line <> ''").to_files("lines", format="csv")
"""

from streams_orchestration.builder import functions, operators
from streams_orchestration.builder.annotations import consistent, threading
from streams_orchestration.builder.application import Application, Composite
from streams_orchestration.builder.columns import Column, col, lit, when
from streams_orchestration.builder.drawing import Drawing
from streams_orchestration.builder.event_time import calendar, event_time, session, time_interval
from streams_orchestration.builder.nodes import BuildError
from streams_orchestration.builder.references import (
    CHANNEL,
    LOCAL_CHANNEL,
    LOCAL_MAX_CHANNELS,
    MAX_CHANNELS,
    Reference,
)
from streams_orchestration.builder.streams import Invoked, Stream, parallel, port
from streams_orchestration.builder.values import Use, use
from streams_orchestration.operators.tuples.watermarks import Idle, Watermark

__all__ = [
    "CHANNEL",
    "LOCAL_CHANNEL",
    "LOCAL_MAX_CHANNELS",
    "MAX_CHANNELS",
    "Application",
    "BuildError",
    "Column",
    "Composite",
    "Drawing",
    "Idle",
    "Invoked",
    "Reference",
    "Stream",
    "Use",
    "Watermark",
    "calendar",
    "col",
    "consistent",
    "event_time",
    "functions",
    "lit",
    "operators",
    "parallel",
    "port",
    "session",
    "threading",
    "time_interval",
    "use",
    "when",
]
