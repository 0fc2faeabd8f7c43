"""Parameters of standard operators whose default here differs from the default in IBM Streams.

An application in SPL gets the parameters that restore the defaults of IBM Streams; one in YAML or Python may set them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Difference(NamedTuple):
    """A default of a standard operator that differs from the default in IBM Streams."""

    operator: str
    here: str
    streams: str
    parameters: Mapping[str, Any]
    """The parameters that restore the default of IBM Streams; empty if no parameters can."""
    when: str = ""
    """The condition under which the parameters are set: windows that are `tumbling` or `sliding` or of a `time`, an
    `outer` join, a `file` of keys, the format `csv`, the role `server`, or `no limit`. If empty, they are always
    set."""


STREAMS_DEFAULTS: tuple[Difference, ...] = (
    Difference(
        "Aggregate",
        "Values and types of output functions are Spark's: sums of integers are bigint, means are double.",
        "A result has the type of its argument; integers wrap around; counts are int.",
        {"functions": "streams"},
    ),
    Difference(
        "Aggregate",
        "Every attribute has a function, or is in `groupBy` or `partitionBy`.",
        "Other attributes come from the last tuple of the group.",
        {"takeLast": True},
    ),
    Difference(
        "Aggregate",
        "A sliding window is submitted at every trigger.",
        "Triggers before the window was full once are ignored, unless `aggregateIncompleteWindows` is true.",
        {"aggregateIncompleteWindows": False},
        "sliding",
    ),
    Difference(
        "Aggregate",
        "A `punct()` window is submitted at the end of the stream.",
        "Nothing is submitted at the end.",
        {"atEnd": "drop"},
        "tumbling",
    ),
    Difference(
        "Aggregate",
        "The time of `time(n)` and `partitionAge(n)` is an attribute.",
        "It is the clock, which also closes and triggers windows without tuples.",
        {"by": "clock"},
        "time",
    ),
    Difference(
        "DeDuplicate",
        "Without `count`, `delta` and `within` a key is remembered for good.",
        "It is remembered for 600 seconds by the clock.",
        {"timeOut": 600},
        "no limit",
    ),
    Difference(
        "Delay",
        "The time of a tuple is an attribute.",
        "It is the clock when the tuple arrives.",
        {"by": "clock"},
    ),
    Difference(
        "FileSink",
        "Files are Parquet, in a directory of the sink.",
        "One file has rows of SPL literals, whose texts are in quotes.",
        {"format": "splCsv"},
        "csv",
    ),
    Difference(
        "FileSink",
        "Files are merged until they have 64 MiB or are 10 seconds old.",
        "The one file stays open, unless `closeMode` says otherwise.",
        {},
    ),
    Difference(
        "FileSink",
        "A name that comes again with `closeMode: dynamic` adds to its files, below the directory of the operator.",
        "The file is emptied first, unless `append` is true.",
        {},
    ),
    Difference(
        "FileSource",
        "`format: csv` has values by the names of a header line; texts such as NA are null.",
        "It has SPL literals by position; there is no header and no null, and lines with `#` are left out.",
        {"format": "splCsv"},
        "csv",
    ),
    Difference(
        "Gate",
        "Tuples that still wait when acknowledgements end are submitted.",
        "They are lost.",
        {"atEnd": "drop"},
    ),
    Difference(
        "Join",
        "The time of `time(n)` is an attribute.",
        "It is the clock, by which tuples leave a window.",
        {"by": "clock"},
        "time",
    ),
    Difference(
        "Join",
        "No markers.",
        "A window marker follows the results of each tuple that has any.",
        {"windowMarkers": True},
    ),
    Difference(
        "Join",
        "What never matched on an outer side is submitted at the end.",
        "Nothing is submitted at the end.",
        {"atEnd": "drop"},
    ),
    Difference(
        "Join",
        "The missing side of an outer join is null.",
        "It has the default of each type: 0, false, empty.",
        {"absent": "defaults"},
        "outer",
    ),
    Difference(
        "Join",
        "An unmatched tuple that leaves is submitted before the pairs of the tuple that evicts it.",
        "It is submitted after them, before the same marker.",
        {},
    ),
    Difference(
        "Parse",
        "`format: csv` has values as other programs write them; some texts are null.",
        "It has SPL literals, as FileSource reads them.",
        {"format": "splCsv"},
        "csv",
    ),
    Difference(
        "Parse",
        "A window marker ends a row and is forwarded.",
        "Markers of the input do not pass; a window marker follows the last tuple.",
        {"windowMarkers": "end"},
    ),
    Difference(
        "Sort",
        "The time of `time(n)` is an attribute.",
        "It is the clock, which also closes windows without tuples.",
        {"by": "clock"},
        "time",
    ),
    Difference(
        "Sort",
        "Open tumbling windows are submitted at the end of the stream.",
        "They are dropped. Sliding windows are submitted, as here.",
        {"atEnd": "drop"},
        "tumbling",
    ),
    Difference(
        "Split",
        "A tuple is sent to a port once.",
        "It is sent as often as a list, or the line of the file, names the port.",
        {"repeat": True},
    ),
    Difference(
        "Split",
        "A tuple whose key is not in the file, which has no line `default`, is dropped.",
        "It ends the application.",
        {"unlisted": "fail"},
        "file",
    ),
    Difference(
        "TCPSink",
        "A server listens at 127.0.0.1.",
        "It listens at all addresses of the machine.",
        {"address": "0.0.0.0"},  # noqa: S104 - as in IBM Streams
        "server",
    ),
    Difference("TCPSink", "`format` is json.", "It is csv, with SPL literals.", {"format": "splCsv"}, "csv"),
    Difference(
        "TCPSource",
        "A server listens at 127.0.0.1.",
        "It listens at all addresses of the machine.",
        {"address": "0.0.0.0"},  # noqa: S104 - as in IBM Streams
        "server",
    ),
    Difference("TCPSource", "`format` is json.", "It is csv, with SPL literals.", {"format": "splCsv"}, "csv"),
    Difference("UDPSource", "`format` is json.", "It is csv, with SPL literals.", {"format": "splCsv"}, "csv"),
    Difference("UDPSink", "`format` is json.", "It is csv, with SPL literals.", {"format": "splCsv"}, "csv"),
)
"""The defaults that differ from IBM Streams, by operator."""
