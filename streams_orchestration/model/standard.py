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
_TABLE: dict[str, tuple[SingleThreadedMode, str, str, str]] = {
    # Mode, input ports, output ports, facts. A port set is a word: M mutable or c not; then g generates, p preserves
    # window punctuation, x control port, e expects window punctuation, w does so with a window evicted by punctuation;
    # ? the port may be left out, * any number of ports, + one or more. A fact is a word, too:
    # - stateful: keeps a state;
    # - noRegion, noStart: cannot be in, cannot start a consistent region;
    # - dataframe: runs as a Spark DataFrame;
    # - onError: has expressions, and can send tuples without a value to a port of their own;
    # - keepsType: the outputs have the tuple type of the first input port;
    # - holdsTuples: holds tuples back; the watermark does not pass the time of such a tuple (EV62);
    # - whole, wholeByEventTime: gets a batch with all its watermarks in one call, always or if a parameter needs event
    #   time. Other operators get one call for the tuples before each watermark.
    "Aggregate": ("WindowTriggerBound", "cw", "Mg M?", "stateful noStart onError wholeByEventTime"),
    "Barrier": ("Always", "c c c*", "M", "stateful noStart onError"),
    "Beacon": ("Always", "", "cg", "stateful"),
    "Buffer": ("Never", "cw", "cp", "stateful keepsType"),
    "CharacterTransform": ("Always", "c", "Mp", "stateful noStart"),
    "Compress": ("Always", "c", "Mg", "stateful"),
    "Custom": ("Always", "M*", "Mg*", "stateful"),
    "DataFrame": ("Always", "c c*", "M M*", "stateful noStart dataframe"),
    "DeDuplicate": ("Always", "c", "Mp cp? cp?", "stateful noStart onError keepsType whole"),
    "Decompress": ("Always", "M", "Mg", "stateful"),
    "Delay": ("Never", "c", "cp", "stateful noStart keepsType holdsTuples wholeByEventTime"),
    "DeltaSink": ("Always", "c", "", "stateful noStart"),
    "DeltaSource": ("Always", "", "M", "stateful"),
    "Demux": ("Always", "c", "Mp Mp*", ""),
    "DirectoryScan": ("Always", "", "c", "stateful"),
    "DynamicFilter": ("Always", "c c c?", "cp cp?", "stateful noStart onError keepsType whole"),
    "Export": ("Always", "c", "", ""),
    "FileSink": ("Always", "c", "M?", "stateful noStart wholeByEventTime"),
    "FileSource": ("Always", "c?", "Mg Mg?", "stateful"),
    "Filter": ("Always", "c", "cp cp?", "noStart onError keepsType whole"),
    "Format": ("Always", "c", "Mp", "noStart onError whole"),
    "Functor": ("Always", "c", "Mp Mp*", "noStart onError whole"),
    "Gate": ("Always", "c cx", "cp", "stateful noRegion onError keepsType holdsTuples"),
    "HttpSink": ("Always", "c", "", "stateful noStart"),
    "HttpSource": ("Always", "", "M M?", "stateful"),
    "IcebergSink": ("Always", "c", "", "stateful noStart"),
    "IcebergSource": ("Always", "", "M", "stateful"),
    "Import": ("Always", "", "cg", ""),
    "JavaOp": ("Never", "cw*", "Mg*", ""),
    "JobControlPlane": ("Always", "", "", ""),
    "Join": ("WindowEvictionBound", "c c", "Mg M? M?", "stateful noStart onError wholeByEventTime"),
    "KafkaSink": ("Always", "c", "", "stateful noStart"),
    "KafkaSource": ("Always", "", "M M?", "stateful"),
    "KeyedAggregate": ("Always", "c", "M", "stateful"),
    "KeyedDelay": ("Always", "c", "M", "stateful"),
    "KeyedJoin": ("Always", "c c", "M", "stateful"),
    "Lookup": ("Always", "c", "Mp cp?", "noStart whole"),
    "MQTTSource": ("Always", "", "M M?", "stateful"),
    "Marker": ("Never", "cw", "cp", "stateful keepsType"),
    "Merge": ("Always", "c c*", "M", "stateful noStart holdsTuples"),
    "MetricsSink": ("Always", "c", "", "stateful noStart onError"),
    "NATSSource": ("Always", "", "M M?", "stateful"),
    "Normalize": ("Always", "c", "Mg", "stateful"),
    "Pair": ("Always", "c c c*", "Mg", "stateful noStart"),
    "Parse": ("Always", "M", "Mp", "stateful noStart"),
    "PostgresChangeSource": ("Always", "", "Mg Mg?", "stateful"),
    "PunctMerger": ("Always", "ce ce*", "cg", "stateful keepsType"),
    "Punctor": ("Always", "c", "Mg", "noStart onError keepsType whole"),
    "RedisSource": ("Always", "", "M M?", "stateful"),
    "ReplayableStart": ("Always", "c", "cp", "keepsType whole"),
    "Selector": ("Never", "Mw+", "cg", "stateful noStart keepsType"),
    "Sort": ("WindowEvictionBound", "cw", "Mg M?", "stateful noStart onError keepsType holdsTuples wholeByEventTime"),
    "Split": ("Always", "c", "cp cp*", "noStart onError keepsType whole"),
    "Sql": ("Always", "c c*", "M", "stateful noStart dataframe"),
    "SqlSink": ("Always", "c", "", "stateful noStart"),
    "SqlSource": ("Always", "", "Mg Mg?", "stateful"),
    "Switch": ("Always", "c cx", "cp", "stateful noRegion onError keepsType holdsTuples"),
    "TCPSink": ("Always", "c", "", "stateful noRegion"),
    "TCPSource": ("Always", "", "M M?", "stateful"),
    "ThreadedSplit": ("Never", "c", "Mp Mp*", "noStart keepsType whole"),
    "Throttle": ("Always", "c", "cp", "stateful noStart keepsType whole"),
    "UDPSink": ("Always", "c", "", "stateful noStart"),
    "UDPSource": ("Always", "", "M M?", "stateful"),
    "Union": ("Always", "c c*", "M", "noStart keepsType whole"),
    "V1TCPSink": ("Always", "c", "", ""),
    "V1TCPSource": ("Always", "", "Mg", ""),
    "XMLParse": ("Always", "c", "Mg Mg*", "stateful noStart"),
}


def _with(fact: str) -> frozenset[str]:
    return frozenset(name for name, (*_, facts) in _TABLE.items() if fact in facts.split())


KEEPS_TYPE = _with("keepsType")
"""Operators whose outputs have the tuple type of their first input port."""
PLACES_WATERMARKS = _with("whole")
"""Operators that get a batch with all its watermarks in one call."""
PLACES_BY_EVENT_TIME = _with("wholeByEventTime")
"""Operators that get a batch with all its watermarks in one call if one of their parameters needs event time."""


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
    mode, inputs, outputs, words = _TABLE[name]
    facts = words.split()
    least_inputs, most_inputs = _counts(inputs.split())
    least_outputs, most_outputs = _counts(outputs.split())
    return OperatorSignature(
        inputs=tuple(map(_input, inputs.split())),
        outputs=tuple(map(_output, outputs.split())),
        least_inputs=least_inputs,
        most_inputs=most_inputs,
        least_outputs=least_outputs,
        most_outputs=most_outputs,
        stateful="stateful" in facts,
        single_threaded=mode,
        engine="dataframe" if "dataframe" in facts else "tuples",
        watermark_mode="heldInput" if "holdsTuples" in facts else None,
        routes_failures="onError" in facts,
        consistent=_NOT_MEMBER if "noRegion" in facts else _NOT_START if "noStart" in facts else _BOTH,
    )


STANDARD: dict[str, OperatorSignature] = {name: _signature(name) for name in _TABLE}
"""The signatures of all standard operators, by name."""
