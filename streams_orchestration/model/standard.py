"""Signatures of the standard operators: ports, mutability, punctuation, threading, regions (rules 25, 72, 92, A36)."""

from __future__ import annotations

from streams_orchestration.model.operators import (
    ConsistentSupport,
    InputPortModel,
    OperatorSignature,
    OutputPortModel,
    SingleThreadedMode,
)

IMPORT = "Import"
EXPORT = "Export"
JOB_CONTROL_PLANE = "JobControlPlane"
NO_NODES = frozenset((IMPORT, EXPORT, JOB_CONTROL_PLANE))
"""Kinds of invocations that do not become nodes of the graph."""

_NOT_MEMBER = ConsistentSupport(member=False, start=False, reason="it cannot drain, checkpoint and reset")
_NOT_START = ConsistentSupport(start=False, reason="it cannot replay its tuples")
_BOTH = ConsistentSupport()

_CANNOT_LIVE = frozenset(("TCPSink", "Gate", "Switch"))
_CANNOT_START = frozenset(
    (
        *("Aggregate", "Barrier", "CharacterTransform", "DataFrame", "DeDuplicate", "Delay", "DeltaSink"),
        *("DynamicFilter", "FileSink", "Filter", "Format", "Functor", "HttpSink", "IcebergSink", "Join", "KafkaSink"),
        *("MetricsSink", "Pair", "Parse", "Punctor", "Selector", "Sort", "Split", "Sql", "SqlSink", "ThreadedSplit"),
        *("Lookup", "Merge", "Throttle", "UDPSink", "Union", "XMLParse"),
    )
)
DATAFRAMES = frozenset(("DataFrame", "Sql"))
"""Operators that run as a Spark DataFrame."""
_STATEFUL = frozenset(
    (
        *DATAFRAMES,
        *("Aggregate", "Barrier", "Beacon", "Buffer", "CharacterTransform", "Compress", "Custom", "Decompress"),
        *("DeDuplicate", "Delay", "DeltaSink", "DeltaSource"),
        *("DirectoryScan", "DynamicFilter", "FileSink", "FileSource", "Gate", "Join", "KeyedAggregate", "KeyedDelay"),
        *("KeyedJoin", "Marker", "Normalize", "Pair", "PunctMerger", "Selector", "Sort", "SqlSink", "Switch"),
        *("HttpSink", "HttpSource", "IcebergSink", "IcebergSource", "KafkaSink", "KafkaSource", "SqlSource"),
        *("MQTTSource", "Merge", "MetricsSink", "NATSSource", "Parse", "PostgresChangeSource", "RedisSource"),
        *("TCPSink", "TCPSource", "Throttle", "UDPSink", "UDPSource", "XMLParse"),
    )
)

_WITH_EXPRESSIONS = frozenset(
    (
        *("Aggregate", "Barrier", "DeDuplicate", "DynamicFilter", "Filter", "Format", "Functor", "Gate", "Join"),
        *("MetricsSink", "Punctor", "Sort", "Split", "Switch"),
    )
)

_HOLDS_TUPLES = frozenset(("Delay", "Gate", "Merge", "Sort", "Switch"))
"""Operators that hold tuples back; their watermark does not pass the time of such a tuple (EV62)."""

PLACES_WATERMARKS = frozenset(
    {
        *("DeDuplicate", "DynamicFilter", "Filter", "Format", "Functor", "Lookup", "Punctor", "ReplayableStart"),
        *("Split", "ThreadedSplit", "Throttle", "Union"),
    }
)
"""Operators that get a batch with all its watermarks in one call.

Other operators get one call for the tuples before each watermark."""
PLACES_BY_EVENT_TIME = frozenset(("Aggregate", "Delay", "FileSink", "Join", "Sort"))
"""Operators that get a batch with all its watermarks in one call if one of their parameters needs event time."""

_TABLE: dict[str, tuple[SingleThreadedMode, str, str]] = {
    # One word a port set: M mutable or c not; then g generates, p preserves window punctuation, x control port,
    # e expects window punctuation, w does so with a window evicted by punctuation; ? the port may be left out,
    # * any number of ports, + one or more.
    "Aggregate": ("WindowTriggerBound", "cw", "Mg M?"),
    "Barrier": ("Always", "c c c*", "M"),
    "Beacon": ("Always", "", "cg"),
    "Buffer": ("Never", "cw", "cp"),
    "CharacterTransform": ("Always", "c", "Mp"),
    "Compress": ("Always", "c", "Mg"),
    "Custom": ("Always", "M*", "Mg*"),
    "DataFrame": ("Always", "c c*", "M M*"),
    "DeDuplicate": ("Always", "c", "Mp cp? cp?"),
    "Decompress": ("Always", "M", "Mg"),
    "Delay": ("Never", "c", "cp"),
    "DeltaSink": ("Always", "c", ""),
    "DeltaSource": ("Always", "", "M"),
    "Demux": ("Always", "c", "Mp Mp*"),
    "DirectoryScan": ("Always", "", "c"),
    "DynamicFilter": ("Always", "c c c?", "cp cp?"),
    "Export": ("Always", "c", ""),
    "FileSink": ("Always", "c", "M?"),
    "FileSource": ("Always", "c?", "Mg Mg?"),
    "Filter": ("Always", "c", "cp cp?"),
    "Format": ("Always", "c", "Mp"),
    "Functor": ("Always", "c", "Mp Mp*"),
    "Gate": ("Always", "c cx", "cp"),
    "HttpSink": ("Always", "c", ""),
    "HttpSource": ("Always", "", "M M?"),
    "IcebergSink": ("Always", "c", ""),
    "IcebergSource": ("Always", "", "M"),
    "Import": ("Always", "", "cg"),
    "JavaOp": ("Never", "cw*", "Mg*"),
    "JobControlPlane": ("Always", "", ""),
    "Join": ("WindowEvictionBound", "c c", "Mg M? M?"),
    "KafkaSink": ("Always", "c", ""),
    "KafkaSource": ("Always", "", "M M?"),
    "KeyedAggregate": ("Always", "c", "M"),
    "KeyedDelay": ("Always", "c", "M"),
    "KeyedJoin": ("Always", "c c", "M"),
    "Lookup": ("Always", "c", "Mp cp?"),
    "MQTTSource": ("Always", "", "M M?"),
    "Marker": ("Never", "cw", "cp"),
    "Merge": ("Always", "c c*", "M"),
    "MetricsSink": ("Always", "c", ""),
    "NATSSource": ("Always", "", "M M?"),
    "Normalize": ("Always", "c", "Mg"),
    "Pair": ("Always", "c c c*", "Mg"),
    "Parse": ("Always", "M", "Mp"),
    "PostgresChangeSource": ("Always", "", "Mg Mg?"),
    "PunctMerger": ("Always", "ce ce*", "cg"),
    "Punctor": ("Always", "c", "Mg"),
    "RedisSource": ("Always", "", "M M?"),
    "ReplayableStart": ("Always", "c", "cp"),
    "Selector": ("Never", "Mw+", "cg"),
    "Sort": ("WindowEvictionBound", "cw", "Mg M?"),
    "Split": ("Always", "c", "cp cp*"),
    "Sql": ("Always", "c c*", "M"),
    "SqlSink": ("Always", "c", ""),
    "SqlSource": ("Always", "", "Mg Mg?"),
    "Switch": ("Always", "c cx", "cp"),
    "TCPSink": ("Always", "c", ""),
    "TCPSource": ("Always", "", "M M?"),
    "ThreadedSplit": ("Never", "c", "Mp Mp*"),
    "Throttle": ("Always", "c", "cp"),
    "UDPSink": ("Always", "c", ""),
    "UDPSource": ("Always", "", "M M?"),
    "Union": ("Always", "c c*", "M"),
    "V1TCPSink": ("Always", "c", ""),
    "V1TCPSource": ("Always", "", "Mg"),
    "XMLParse": ("Always", "c", "Mg Mg*"),
}
KEEPS_TYPE = frozenset(
    (
        *("Buffer", "DeDuplicate", "Delay", "DynamicFilter", "Filter", "Gate", "Marker", "PunctMerger", "Punctor"),
        *("ReplayableStart", "Selector", "Sort", "Split", "Switch", "ThreadedSplit", "Throttle", "Union"),
    )
)
"""Standard operators whose outputs have the tuple type of their first input port."""


def _counts(words: list[str]) -> tuple[int, int | None]:
    least = sum(1 for word in words if word[-1] not in "?*")
    return least, None if any(word[-1] in "*+" for word in words) else len(words)


def _input(word: str) -> InputPortModel:
    return InputPortModel(
        mutable="M" in word, control="x" in word, expects_window_punctuation="e" in word, window_bound="w" in word
    )


def _output(word: str) -> OutputPortModel:
    return OutputPortModel(
        mutable="M" in word, generates_window_punctuation="g" in word, preserves_window_punctuation="p" in word
    )


def _signature(name: str) -> OperatorSignature:
    mode, inputs, outputs = _TABLE[name]
    least_inputs, most_inputs = _counts(inputs.split())
    least_outputs, most_outputs = _counts(outputs.split())
    return OperatorSignature(
        inputs=tuple(map(_input, inputs.split())),
        outputs=tuple(map(_output, outputs.split())),
        least_inputs=least_inputs,
        most_inputs=most_inputs,
        least_outputs=least_outputs,
        most_outputs=most_outputs,
        stateful=name in _STATEFUL,
        single_threaded=mode,
        engine="dataframe" if name in DATAFRAMES else "tuples",
        watermark_mode="heldInput" if name in _HOLDS_TUPLES else None,
        routes_failures=name in _WITH_EXPRESSIONS,
        consistent=_NOT_MEMBER if name in _CANNOT_LIVE else _NOT_START if name in _CANNOT_START else _BOTH,
    )


STANDARD: dict[str, OperatorSignature] = {name: _signature(name) for name in _TABLE}
"""The signatures of all standard operators, by name."""
