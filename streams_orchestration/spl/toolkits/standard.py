"""The operators of the toolkit `spl`, by namespace, that correspond to a standard operator of this product."""

from __future__ import annotations

_NAMESPACES = {
    "spl.adapter": (
        *("DirectoryScan", "Export", "FileSink", "FileSource", "Import", "MetricsSink", "TCPSink", "TCPSource"),
        *("UDPSink", "UDPSource"),
    ),
    "spl.control": ("JobControlPlane",),
    "spl.java": ("JavaOp",),
    "spl.relational": ("Aggregate", "Filter", "Functor", "Join", "Punctor", "Sort"),
    "spl.utility": (
        *("Barrier", "Beacon", "CharacterTransform", "Compress", "Custom", "DeDuplicate", "Decompress", "Delay"),
        *("DynamicFilter", "Format", "Gate", "JavaOp", "Pair", "Parse", "ReplayableStart", "Split", "Switch"),
        *("ThreadedSplit", "Throttle", "Union"),
    ),
    "spl.XML": ("XMLParse",),
}
OPERATORS = {name: namespace for namespace, names in _NAMESPACES.items() for name in names}

COMPILED_ONLY = {"EndpointSink": "spl.endpoint", "EndpointSource": "spl.endpoint"}
"""Operator of the toolkit `spl` that no standard operator here replaces -> its namespace."""


def is_standard(namespace: str, name: str) -> bool:
    """Return True if a namespace, or any namespace for an empty one, has a standard operator with this name.

    >>> is_standard("spl.relational", "Filter"), is_standard("", "Filter"), is_standard("spl.utility", "Filter")
    (True, True, False)
    """
    return name in OPERATORS and (not namespace or name in _NAMESPACES.get(namespace, ()))
