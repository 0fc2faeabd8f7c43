"""Parameters and values of IBM Streams' standard operators that are not supported here, with the alternative."""

from __future__ import annotations

from collections.abc import Mapping

_RECEIVED = {
    "hasDelayField": "tuples are submitted as they are received; leave it out",
    "initDelay": "tuples wait in the journal until consumers are ready; leave it out",
    "interface": "name the address of the interface with address",
    "parsing": "use onBadTuple: `strict` is fail, `permissive` is drop or stream, `fast` has no counterpart",
    "readPunctuations": "marks among the messages are not read; use a Punctor to submit window markers",
    "receiveBufferSize": "the setting of the operating system is used; leave it out",
}

_SENT = {
    "hasDelayField": "a repeated batch would have other delays; put the time into an attribute of the tuples",
    "sendBufferSize": "the setting of the operating system is used; leave it out",
    "writePunctuations": "only tuples are sent; use a Custom to turn marks into tuples",
}

_ENCRYPTED = dict.fromkeys(
    (
        *("sslAuthenticateClient", "sslCertificateAuthorityFile", "sslCertificateFile", "sslCipherSuites"),
        *("sslConfigName", "sslProtocol", "password"),
    ),
    "connections are not encrypted; put a proxy that encrypts in front of the address",
)

_WAITING = {
    "bufferSize": "tuples that wait for other ports are kept in the state, so no port must be blocked; leave it out"
}

_FILES = {
    "initDelay": "consumers are ready before anything is read, so no delay is needed; leave it out",
    "readPunctuations": "marks in a file are not read; a Punctor makes window markers",
}

_REFUSED: dict[str, dict[str, str]] = {
    "Barrier": _WAITING,
    "Pair": _WAITING,
    "ThreadedSplit": {"bufferSize": "set queues in front of the next operators with config: threadedPort"},
    "Custom": {
        "logic": "the logic is written in SPL; name Python functions with function and onPunctuation",
        "onProcess": "write a SourceOperator: it can produce its tuples again after a reset",
        "onPunct": "name a Python function with onPunctuation",
    },
    "Delay": {"bufferSize": "waiting tuples are kept in the state, so the stream must not be blocked; leave it out"},
    "DirectoryScan": {
        "initDelay": "consumers are ready before anything is read, so no delay is needed; leave it out",
        "moveToDirectory": "the file must stay, since it is read again after a reset",
    },
    "FileSink": {
        "append": "parts are always added to the directory, and a start with --fresh replaces them; leave it out",
        "flush": "parts are written whole and are on disk before their batch is committed; leave it out",
        "flushOnPunctuation": "parts are written whole and are on disk before their batch is committed; leave it out",
        "moveFileToDirectory": "a part is always written to a pending file, and moved when its epoch is complete",
        "writeFailureAction": "a failed write stops the PE, and is repeated after a reset; leave it out",
        "writeStateHandlerCallbacks": "files hold only tuples; the log of the PE has batches, epochs and resets",
    },
    "FileSource": _FILES,
    "NamedFiles": {
        **_FILES,
        "deleteFile": "the file must stay, since it is read again after a reset",
        "moveFileToDirectory": "the file must stay, since it is read again after a reset",
        "hotFile": "a file is read to its end before the next name; read one file without an input port",
        "file": "the tuples of the input port name the files; leave it out",
        "interleave": "a file is read to its end before the next name; read the directory without an input port",
    },
    "Format": {
        "eolMarker": "a row ends with a line feed; leave it out",
        "hasDelayField": "a replay would write other delays",
        "writePunctuations": "rows are made of tuples only; turn marks into tuples with a Custom",
    },
    "Parse": {
        "readPunctuations": "marks among the bytes are not read; a Punctor makes window markers",
    },
    "SqlSink": {
        "jdbcUrl": "use an SQLAlchemy URL: url: postgresql://user:${env:PASSWORD}@host/database",
        **dict.fromkeys(
            ("jdbcUser", "jdbcPassword"), "user and password are parts of url; write the password as ${env:NAME}"
        ),
        **dict.fromkeys(("jdbcDriverLib", "jdbcClassName"), "drivers are Python packages; leave it out"),
        **dict.fromkeys(
            ("statement", "statementParameters", "statementParamAttrs"),
            "rows are added to a table; name the table with `table`, and the attributes by which rows are replaced "
            "with `key`",
        ),
        **dict.fromkeys(
            ("transactionSize", "batchSize", "commitPolicy", "commitInterval"),
            "every epoch is one transaction; leave it out",
        ),
        "sqlFailureAction": "a refused transaction is retried until the database accepts it; leave it out",
    },
    "TCPSink": {
        **_SENT,
        **_ENCRYPTED,
        **dict.fromkeys(
            ("reconnectionPolicy", "reconnectionBound", "retryFailedSends", "detectDisconnectsBeforeSends"),
            "connections are always restored, and unsent tuples are sent again; leave it out",
        ),
        "closeMode": "all tuples are sent to one address; leave it out",
        "confirmWireFormat": "only tuples are sent; leave it out",
        "flush": "each batch is sent at once; leave it out",
        "flushOnPunctuation": "each batch is sent at once; leave it out",
        "initDelay": "tuples wait until a receiver is connected; leave it out",
        "interface": "name the address of the interface with address",
    },
    "TCPSource": {
        **_RECEIVED,
        **_ENCRYPTED,
        "confirmWireFormat": "only tuples are read; leave it out",
        "keepAlive": "accepted connections are always checked; leave it out",
        "reconnectionPolicy": "closed connections are always reopened; leave it out",
        "reconnectionBound": "closed connections are always reopened; leave it out",
    },
    "Throttle": {
        "includePunctuations": "marks pass without delay; leave it out",
        "period": "the rate is kept from batch to batch; leave it out",
        "precise": "the operator pauses only after whole batches, so it makes no short pauses; leave it out",
    },
    "XMLParse": {
        **dict.fromkeys(
            ("flatten", "attributesName", "textName", "nullify"),
            "attributes get values from output only; write an expression for each",
        ),
        **dict.fromkeys(
            ("ignorecase", "ignoreNamespaces", "ignorePrefix"),
            "names are compared as they are written; name the elements as in the documents",
        ),
        "xmlParseHuge": "the size of documents is not limited; leave it out",
    },
    "UDPSink": {**_SENT, "compression": "datagrams are sent uncompressed; compress the texts in a Custom upstream"},
    "UDPSource": {
        **_RECEIVED,
        "blockSize": "a datagram is a block; leave it out",
        "compression": "datagrams are read as they come; decompress them in a Custom after the source",
    },
}
"""Maps class of operator and parameter to the reason and the alternative."""


def refused_parameters(kind: type) -> Mapping[str, str]:
    """Return the refused parameters of a standard operator's class, each with the reason; none for other classes."""
    own = (each.__name__ for each in kind.__mro__ if each.__module__.startswith(f"{__package__}."))
    return next((_REFUSED[name] for name in own if name in _REFUSED), {})


_TRUTH = ("true", "false")
_FORMATS = ("txt", "csv", "bin", "block", "line")

STREAMS_VALUES: dict[str, dict[str, tuple[str, ...]]] = {
    "Format": {"format": _FORMATS, "hasDelayField": _TRUTH, "writePunctuations": _TRUTH},
    "Parse": {
        "format": _FORMATS,
        "readPunctuations": _TRUTH,
    },
    "FileSink": {
        "append": _TRUTH,
        "closeMode": ("punct", "count", "size", "time", "never"),
        "format": _FORMATS,
        "writeFailureAction": ("ignore", "log", "terminate"),
    },
    "FileSource": {
        "format": _FORMATS,
        "readPunctuations": _TRUTH,
    },
    "TCPSink": {"closeMode": ("dynamic", "never"), "format": _FORMATS},
    "TCPSource": {"format": _FORMATS},
    "Throttle": {"includePunctuations": _TRUTH, "precise": _TRUTH},
    "UDPSink": {"format": _FORMATS},
    "UDPSource": {"format": _FORMATS},
}
"""Maps operator and parameter to the values in IBM Streams, if not all of them are supported here."""
