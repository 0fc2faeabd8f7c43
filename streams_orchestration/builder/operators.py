"""The standard operators with their parameters, to be put into an application.

`make docs` writes this module from the models of the parameters; edit those.
"""

# ruff: noqa: E501, N802, PLR0913

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from streams_orchestration.builder.annotations import plain_keys
from streams_orchestration.builder.columns import Column
from streams_orchestration.builder.references import Reference
from streams_orchestration.builder.values import Use, named_use


def Aggregate(
    *,
    window: str,
    on_error: Literal["fail", "skip", "route"] | None = None,
    group_by: Sequence[Any] | None = None,
    partition_by: Sequence[Any] | None = None,
    output: Mapping[str, Any] | None = None,
    time_attribute: str | None = None,
    by: Literal["tuples", "clock"] | None = None,
    functions: Literal["spark", "streams"] | None = None,
    take_last: bool | Reference | None = None,
    aggregate_incomplete_windows: bool | Reference | None = None,
    at_end: Literal["submit", "drop"] | None = None,
    aggregate_evicted_partitions: bool | Reference | None = None,
    refinement: Literal["accumulating", "discarding", "retracting"] | None = None,
) -> Use:
    """Submits a tuple for each group, in order of appearance, then a marker, when a window closes or is triggered.

    Args:
        window: Window clause, such as tumbling, punct().
        on_error: Policy for a tuple or group without a value: stop the application, skip it, or send it to a port. Default: `fail`.
        group_by: Attributes whose values form a group.
        partition_by: Attributes whose values each have their own window.
        output: Maps an attribute to an output function such as Average(e). Other attributes come from groupBy and partitionBy.
        time_attribute: Timestamp attribute by which time(...) windows are ordered.
        by: Time of time(...) and partitionAge(...): the attribute timeAttribute (tuples), or the clock of the machine. Default: `tuples`.
        functions: System whose output functions are used. streams: results have the type of the argument, integers wrap around, means of integers are truncated, counts are int, and of several tuples with the extreme value the first one is taken. Default: `spark`.
        take_last: Take each attribute without a function from the last tuple of the group, by its name.
        aggregate_incomplete_windows: Tumbling windows: also submit windows that the end of the stream cuts off; false by default. Sliding windows: also submit a window that was never full before; true by default.
        at_end: drop: at the end of the stream, drop punct() windows that no marker has closed. Default: `submit`.
        aggregate_evicted_partitions: Also submit tumbling windows of partitions that are evicted.
        refinement: Content of a further firing of a pane: all its tuples, only the tuples since the last firing, or all its tuples after retractions of the earlier results. Default: `accumulating`.
    """
    return named_use("Aggregate", plain_keys(locals()))


def Barrier(
    *,
    on_error: Literal["fail", "skip", "route"] | None = None,
    partition_by: Sequence[Any] | None = None,
    output: Mapping[str, Any] | None = None,
) -> Use:
    """Submits one combined tuple once every input port has delivered a matching tuple.

    Args:
        on_error: Policy for a tuple or group without a value: stop the application, skip it, or send it to a port. Default: `fail`.
        partition_by: Attributes whose values match tuples: one list for all ports, or a list for each port.
        output: Maps an attribute to an expression. An attribute of several ports is named in0_name, in1_name and so on.
    """
    return named_use("Barrier", plain_keys(locals()))


def Beacon(
    *,
    iterations: int | Reference | None = None,
    period: float | Reference | None = None,
    init_delay: float | Reference | None = None,
    trigger_count: int | Reference | None = None,
    output: Mapping[str, Any] | None = None,
    spl: Mapping[str, Any] | None = None,
) -> Use:
    """Submits generated tuples; the offset is the number of tuples so far.

    Args:
        iterations: Number of tuples; endless if omitted.
        period: Seconds between tuples. Default: `0`.
        init_delay: Seconds before the first tuple. Default: `0`.
        trigger_count: Tuples in each epoch of the region that the Beacon drives.
        output: Maps an attribute to an expression over IterationCount(). Other attributes are 0, false, '' or null.
        spl: Logic in SPL: state, which the expressions of output may read and change.
    """
    return named_use("Beacon", plain_keys(locals()))


def CharacterTransform(*, convert: Mapping[str, Any] | None = None, output: Mapping[str, Any] | None = None) -> Use:
    """Computes tuples as Functor does, and converts the bytes of attributes from an encoding to another one.

    Args:
        convert: Maps a binary attribute of the output to the encoding of its value and the encoding that it gets.
        output: Maps an attribute to an expression. Other attributes keep their values.
    """
    return named_use("CharacterTransform", plain_keys(locals()))


def Compress(
    *,
    compression: Literal["zlib", "gzip", "bzip2"],
    compression_input: str | Column | None = None,
    flush_on_punct: bool | Reference | None = None,
) -> Use:
    """Compresses the bytes of all tuples as one stream, and submits a tuple with compressed bytes for each batch.

    Args:
        compression: Format of the compressed bytes.
        compression_input: Attribute with the bytes or text, or an expression. May be omitted if there is only one.
        flush_on_punct: A window marker ends the compressed stream, and is forwarded. By default only the end does so.
    """
    return named_use("Compress", plain_keys(locals()))


def Custom(
    *,
    function: str | None = None,
    on_tuple: str | None = None,
    on_punctuation: str | None = None,
    on_watermark: str | None = None,
    on_timer: str | None = None,
    state: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
    spl: Mapping[str, Any] | None = None,
) -> Use:
    """Calls functions for batches, tuples, marks, steps of the watermark and timers.

    Args:
        function: Function package.module:name that is called for every batch.
        on_tuple: Function package.module:name that is called for every tuple, instead of function.
        on_punctuation: Function package.module:name that is called for every punctuation mark.
        on_watermark: Function package.module:name that is called for every step of the watermark.
        on_timer: Function package.module:name that is called for every timer that the watermark reaches.
        state: Initial content of `state`.
        arguments: Values that the functions get as `arguments`.
        spl: Logic in SPL, instead of Python functions: state, onTuple, onPunct, functions.
    """
    return named_use("Custom", plain_keys(locals()))


def DataFrame(
    *,
    function: str,
    watermarks: Mapping[str, Any] | None = None,
    output_delay: float | Reference | None = None,
    static: Mapping[str, Any] | None = None,
    output_mode: Literal["append", "update"] | None = None,
    flush: bool | Reference | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> Use:
    """Calls a function once with a streaming DataFrame for each input port, and streams the result.

    Args:
        function: Function package.module:name that takes one DataFrame for each input port.
        watermarks: Maps an input stream to its event time: {attribute, delay}, as in Spark, or eventTime for the watermark of its event-time graph.
        output_delay: Seconds of event time by which results may be older than the input's watermark. The default is computed from the windows and joins of the query.
        static: Maps a name to a table that does not stream: {file, format, schema, options}.
        output_mode: append: rows are submitted once they are final. update: they are submitted whenever they change. Default: `append`.
        flush: Close all windows and joins when the input has ended. Default: `True`.
        arguments: Further arguments of the function, by name.
    """
    return named_use("DataFrame", plain_keys(locals()))


def DeDuplicate(
    *,
    on_error: Literal["fail", "skip", "route"] | None = None,
    key: str | Column | Sequence[Any] | None = None,
    count: int | Reference | None = None,
    delta: float | Reference | None = None,
    delta_attribute: str | None = None,
    time_out: float | Reference | None = None,
    within: float | Reference | None = None,
    discard_age: float | Reference | None = None,
    reset_on_duplicate: bool | Reference | None = None,
    flush_on_punctuation: bool | Reference | None = None,
    output: Mapping[str, Any] | None = None,
) -> Use:
    """Passes a tuple to output port 0 if its key is not remembered, otherwise to port 1 if that is connected.

    Args:
        on_error: Policy for a tuple or group without a value: stop the application, skip it, or send it to a port. Default: `fail`.
        key: List of expressions that form the key; all attributes by default.
        count: Number of further tuples for which a key is remembered.
        delta: A key is forgotten once deltaAttribute has grown by more than this.
        delta_attribute: Number attribute, or a timestamp, for which delta is in seconds.
        time_out: Seconds by the clock for which a key is remembered; after a reset other tuples may pass.
        within: Seconds of event time before and after a tuple, within which tuples of its key are duplicates.
        discard_age: Seconds before the watermark from which on a tuple is too late to be judged; needs within. Default: `0`.
        reset_on_duplicate: Remember a key from its last duplicate on, instead of from its first tuple. Default: `True`.
        flush_on_punctuation: Forget all keys at a window marker.
        output: Maps an attribute of output port 0 to an expression. Other attributes keep their values.
    """
    return named_use("DeDuplicate", plain_keys(locals()))


def Decompress(
    *,
    compression: Literal["zlib", "gzip", "bzip2"],
    decompression_input: str | Column | None = None,
    flush_on_punct: bool | Reference | None = None,
    flush_per_tuple: bool | Reference | None = None,
) -> Use:
    """Decompresses the bytes of all tuples as one stream, and submits them in tuples of 64 KiB.

    Args:
        compression: Format of the compressed bytes.
        decompression_input: Attribute with the compressed bytes, or an expression. May be omitted if there is only one.
        flush_on_punct: A window marker ends the compressed bytes, and is forwarded if tuples came before it. By default only the end does so.
        flush_per_tuple: Each tuple is compressed for itself, and gives one tuple.
    """
    return named_use("Decompress", plain_keys(locals()))


def Delay(
    *,
    delay: float | Reference,
    by: Literal["tuples", "watermark", "clock"] | None = None,
    time_attribute: str | None = None,
) -> Use:
    """Submits a tuple once another tuple has arrived that is `delay` seconds later by `timeAttribute`.

    Args:
        delay: Seconds by which a tuple is held back.
        by: Clock of the delay: the largest timeAttribute so far (tuples), the watermark of event time, or the clock of the machine, from the arrival of a tuple on. Default: `tuples`.
        time_attribute: Timestamp attribute with the time of a tuple; needed unless by is watermark.
    """
    return named_use("Delay", plain_keys(locals()))


def DeltaSink(
    *,
    table: str,
    storage: Mapping[str, Any] | None = None,
    columns: Mapping[str, Any] | None = None,
    suppress: Sequence[Any] | None = None,
    key: Sequence[Any] | None = None,
    create_table: bool | Reference | None = None,
    on_undeliverable: Literal["fail", "route"] | None = None,
    partition_by: Sequence[Any] | None = None,
    add_columns: bool | Reference | None = None,
) -> Use:
    """Commits every epoch as one version of the table. The transaction names application, operator and epoch.

    Args:
        table: Directory or address of the table. A relative directory is among the results (sink), or starts at the spec's directory (source).
        storage: Options of the object store that holds the table.
        columns: Maps an attribute to its column where the names differ.
        suppress: Attributes that are not written.
        key: Attributes of the key. A tuple replaces the row with the same key.
        create_table: Create the table if it is missing.
        on_undeliverable: Policy for a tuple that the target can never take. route: set it aside and deliver the others. Default: `fail`.
        partition_by: Columns that the table is partitioned by.
        add_columns: Add a column to the table for each attribute that has none.
    """
    return named_use("DeltaSink", plain_keys(locals()))


def DeltaSource(
    *,
    table: str,
    storage: Mapping[str, Any] | None = None,
    start_at: Mapping[str, Any] | Literal["snapshot", "earliest", "latest"] | None = None,
    until: Literal["latest"] | None = None,
    on_change: Literal["fail", "skip", "rewritten", "feed"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    poll_period: float | Reference | None = None,
) -> Use:
    """Reads the files that each version of the log adds. Versions that only move rows (OPTIMIZE) are not read.

    Args:
        table: Directory or address of the table. A relative directory is among the results (sink), or starts at the spec's directory (source).
        storage: Options of the object store that holds the table.
        start_at: snapshot: read all existing rows, then the added ones. latest: read only rows that are added from now on. earliest: read the rows that were added since the oldest readable version. {version: n} or {time: t}: read the rows that were added from there on. Default: `snapshot`.
        until: latest: end with the version that is the newest one at the start.
        on_change: Policy for a version that deletes or updates rows. skip: do not read it. rewritten: read all rows of the files that it adds, unchanged rows included. feed: read the changes themselves. Default: `fail`.
        on_lost_data: Policy for versions and files that were deleted before they were read. Default: `fail`.
        poll_period: Seconds between two checks for new versions. Default: `1`.
    """
    return named_use("DeltaSource", plain_keys(locals()))


def DirectoryScan(
    *,
    directory: str,
    storage: Mapping[str, Any] | None = None,
    pattern: str | None = None,
    sort_by: Literal["date", "name"] | None = None,
    order: Literal["ascending", "descending"] | None = None,
    sleep_time: float | Reference | None = None,
    ignore_dot_files: bool | Reference | None = None,
    ignore_existing_files_at_startup: bool | Reference | None = None,
    until: Literal["latest"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    output: Mapping[str, Any] | None = None,
    spl: Mapping[str, Any] | None = None,
) -> Use:
    """Submits a tuple for each file in a directory and for each new file. Subdirectories are left out.

    Args:
        directory: Directory, relative to the spec or absolute, or an address.
        storage: Options of the object store that the address names.
        pattern: A regular expression that is searched for in file names.
        sort_by: Order of the files of one scan. Files of the same date are in order of their names. Default: `date`.
        order: Direction of the order within one scan. Default: `ascending`.
        sleep_time: Seconds between two scans. Default: `5`.
        ignore_dot_files: Leave out files whose names begin with a dot.
        ignore_existing_files_at_startup: Leave out the files of the first scan.
        until: latest: end after the files of the first scan.
        metadata: Maps an attribute to path, name, directory, size or modified. If omitted, the only attribute gets the path.
        output: Maps attributes to expressions of SPL over FullPath(), FilePath(), FileName() and so on.
        spl: Logic in SPL: state, which the expressions of output may read and change.
    """
    return named_use("DirectoryScan", plain_keys(locals()))


def DynamicFilter(
    *,
    key: str | Column | Sequence[Any],
    add_key: str | Column | Sequence[Any],
    on_error: Literal["fail", "skip", "route"] | None = None,
    remove_key: str | Column | Sequence[Any] | None = None,
) -> Use:
    """Passes a tuple to port 0 if its key was added and not removed since, otherwise to port 1 if connected.

    Args:
        key: List of expressions over input port 0 that form the key of a tuple.
        add_key: List of expressions over port 1. Their key lets tuples pass from then on.
        on_error: Policy for a tuple or group without a value: stop the application, skip it, or send it to a port. Default: `fail`.
        remove_key: List of expressions over port 2. Their key stops tuples from then on.
    """
    return named_use("DynamicFilter", plain_keys(locals()))


def FileSink(
    *,
    file: str,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    name_by: str | None = None,
    storage: Mapping[str, Any] | None = None,
    format: Literal["parquet", "csv", "jsonl", "arrow", "splCsv", "splTxt", "line", "block", "bin"] | None = None,
    quote_strings: bool | Reference | None = None,
    suppress: Sequence[Any] | None = None,
    partition_by: Sequence[Any] | None = None,
    complete_after: str | None = None,
    close_mode: Literal["size", "time", "epochs", "batch", "count", "punct", "watermark", "dynamic"] | None = None,
    tuples_per_file: int | Reference | None = None,
    write_punctuations: bool | Reference | None = None,
    has_delay_field: bool | Reference | None = None,
    types: Mapping[str, Any] | None = None,
    compression: Literal["zlib", "gzip", "bzip2"] | None = None,
    encoding: str | None = None,
    eol_marker: str | None = None,
    bytes_per_file: int | Reference | None = None,
    time_per_file: float | Reference | None = None,
    epochs_per_file: int | Reference | None = None,
    truncate_on_reset: bool | Reference | None = None,
    visibility: Literal["read_committed", "read_uncommitted"] | None = None,
) -> Use:
    """Writes files `part-<epoch>-<batch>-<channel>` into the directory `file`, or into its `partitionBy` directories.

    Args:
        file: Directory or address for the parts. An empty text, allowed with nameBy, means a directory with the operator's name. A relative directory is among the results.
        separator: Character between the values of a CSV row. Default: `,`.
        null_texts: CSV texts that mean null when they are not quoted. The first one is written.
        name_by: Expression with the name of a file: the directory below file for the parts of a tuple or, with closeMode count and punct, of the part that a tuple begins. /dev/null drops tuples.
        storage: Options of the object store that the address names.
        format: Format of the files; block: the bytes of the only attribute, one after the other; bin: SPL's binary encoding. Default: `parquet`.
        quote_strings: Quote CSV values that require it. Default: `True`.
        suppress: Attributes that are not written.
        partition_by: Attributes whose values name directories for the files.
        complete_after: Expression over the values of partitionBy: the event time at which a directory is complete; needs closeMode watermark.
        close_mode: Event that closes a file; punct: a window marker; watermark: the end of its directory, which then gets `_SUCCESS`. If omitted, or dynamic, the size, time or epochs parameter decides; dynamic needs nameBy.
        tuples_per_file: Number of tuples in a file; needs closeMode count.
        write_punctuations: Write each mark among the tuples; for the formats splCsv, splTxt, line and bin.
        has_delay_field: Begin each line of splCsv and splTxt with the seconds since the tuple or mark before it, by the time of the batches; 0 for the first.
        types: Maps attributes to their types in SPL if the values' texts depend on them, as in enum{red, green}, set<int32> and decimal64; for the formats splCsv, splTxt and bin.
        compression: Compression of files of splCsv, splTxt, line, block and bin: zlib, gzip or bzip2.
        encoding: Encoding of the texts in splCsv, splTxt and line. Default: `utf-8`.
        eol_marker: Text that ends a line in splCsv, splTxt and line; a line feed by default.
        bytes_per_file: Approximate size of a file in bytes.
        time_per_file: Approximate seconds that a file covers.
        epochs_per_file: Number of complete epochs in a file.
        truncate_on_reset: Truncation as in IBM Streams. No effect: in either case no row is published twice after a reset. Default: `True`.
        visibility: read_uncommitted: a part is visible with its batch, and a reset removes it. Default: `read_committed`.
    """
    return named_use("FileSink", plain_keys(locals()))


def FileSource(
    *,
    file: str | None = None,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    has_header_line: bool | Reference | int | None = None,
    quote_strings: bool | Reference | None = None,
    parsing: Literal["strict", "permissive", "fast"] | None = None,
    eol_marker: str | None = None,
    default_tuple: Mapping[str, Any] | None = None,
    ignore_extra_csv_values: bool | Reference | None = None,
    has_delay_field: bool | Reference | None = None,
    types: Mapping[str, Any] | None = None,
    block_size: int | Reference | None = None,
    output: Mapping[str, Any] | None = None,
    storage: Mapping[str, Any] | None = None,
    directory: str | None = None,
    ignore_open_errors: bool | Reference | None = None,
    format: Literal["csv", "line", "jsonl", "parquet", "arrow", "splCsv", "splTxt", "block", "bin"] | None = None,
    compression: Literal["zlib", "gzip", "bzip2"] | None = None,
    encoding: str | None = None,
    spl: Mapping[str, Any] | None = None,
    hot_file: bool | Reference | None = None,
    delete_file: bool | Reference | None = None,
    move_file_to_directory: str | None = None,
    interleave: bool | Reference | None = None,
) -> Use:
    """Reads each file once, front to back. The offset is the file and the number of rows read from it.

    Args:
        file: File, directory or pattern relative to the spec, package://<package>/<path>, or an address.
        separator: Character between the values of a CSV row. Default: `,`.
        null_texts: CSV texts that mean null when they are not quoted. The first one is written.
        has_header_line: The first line of a CSV file names the columns; true by default. With splCsv, lines to skip; false by default.
        quote_strings: CSV values may be quoted. If false, a quote is an ordinary character. Default: `True`.
        parsing: permissive: drop and count malformed rows. strict and fast: stop at one. Default: `strict`.
        eol_marker: Text that ends a line; a line feed, with or without a carriage return, by default.
        default_tuple: Maps attributes to constant expressions for values that are missing in a row of splCsv.
        ignore_extra_csv_values: Ignore values after the last attribute in a row of splCsv.
        has_delay_field: A row of splCsv or splTxt begins with the seconds to wait before its tuple, and a comma. Delays are ignored if there is an input port.
        types: Maps attributes to their types in SPL if the values' texts depend on them, as in enum{red, green}, set<int32> and decimal64; for the formats splCsv, splTxt and bin.
        block_size: Bytes of a block; the whole file by default.
        output: Maps attributes that are not in the rows to FileName() or TupleNumber(), or expressions of SPL.
        storage: Options of the object store that the address names.
        directory: Directory from which relative names of files start; by default the directory of the spec.
        ignore_open_errors: Continue with a warning if the file does not exist.
        format: Format of the files. splCsv: rows of SPL literals by position; splTxt: an SPL tuple a line; block: bytes; bin: SPL's binary encoding. Default: `csv`.
        compression: Compression of a file whose name does not say it: zlib, gzip or bzip2.
        encoding: Encoding of the texts, in which a line feed is one byte, such as ISO-8859-1. Default: `utf-8`.
        spl: Logic in SPL: state, which the expressions of output may read and change.
        hot_file: Wait at the end of a local text file for lines that are appended, instead of ending.
        delete_file: Delete a local file when no reset can need it.
        move_file_to_directory: Directory to which a local file is moved when no reset can need it.
        interleave: Read all matching files side by side, always from the file with the least event time.
    """
    return named_use("FileSource", plain_keys(locals()))


def Filter(
    *,
    on_error: Literal["fail", "skip", "route"] | None = None,
    spl: Mapping[str, Any] | None = None,
    filter: str | Column | None = None,
) -> Use:
    """Passes a tuple to output port 0 if `filter` is true, otherwise to port 1 if that is connected.

    Args:
        on_error: Policy for a tuple or group without a value: stop the application, skip it, or send it to a port. Default: `fail`.
        spl: Logic in SPL that runs before the expressions: state, onTuple, onPunct.
        filter: A condition for tuples to pass. If omitted, every tuple passes.
    """
    return named_use("Filter", plain_keys(locals()))


def Format(
    *,
    on_error: Literal["fail", "skip", "route"] | None = None,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    format: Literal["csv", "line", "jsonl", "bin"] | None = None,
    quote_strings: bool | Reference | None = None,
    suppress: str | Sequence[Any] | None = None,
    types: Mapping[str, Any] | None = None,
    output: Mapping[str, Any] | None = None,
) -> Use:
    """Formats each tuple as a row, as bytes or text. A row ends with a line feed, except with `format: bin`.

    Args:
        on_error: Policy for a tuple or group without a value: stop the application, skip it, or send it to a port. Default: `fail`.
        separator: Character between the values of a CSV row. Default: `,`.
        null_texts: CSV texts that mean null when they are not quoted. The first one is written.
        format: Format of a row, which ends with a line feed: csv, line, jsonl. bin: SPL's binary encoding. Default: `csv`.
        quote_strings: Quote CSV values that require it. Default: `True`.
        suppress: Attributes that are not written.
        types: Maps attributes to their types in SPL if columns do not show them, for the format bin.
        output: Maps an attribute to an expression. One of them is Output(), the row as bytes or text. May be omitted if there is only that one. If the expressions are SPL, they make the rows as well.
    """
    return named_use("Format", plain_keys(locals()))


def Functor(
    *,
    on_error: Literal["fail", "skip", "route"] | None = None,
    spl: Mapping[str, Any] | None = None,
    filter: str | Column | None = None,
    output: Mapping[str, Any] | Sequence[Any] | None = None,
) -> Use:
    """Submits a tuple with the attributes of the output stream, which are computed or copied by name.

    Args:
        on_error: Policy for a tuple or group without a value: stop the application, skip it, or send it to a port. Default: `fail`.
        spl: Logic in SPL that runs before the expressions: state, onTuple, onPunct.
        filter: A condition. Tuples for which it is not true are dropped.
        output: Maps an attribute to an expression; other attributes keep their values. A list has one map for each output port.
    """
    return named_use("Functor", plain_keys(locals()))


def Gate(
    *,
    max_unacked_tuple_count: int | Reference,
    on_error: Literal["fail", "skip", "route"] | None = None,
    num_tuples_to_ack: str | Column | int | Reference | None = None,
    at_end: Literal["submit", "drop"] | None = None,
) -> Use:
    """Passes a tuple while fewer than `maxUnackedTupleCount` earlier tuples are unacknowledged.

    Args:
        max_unacked_tuple_count: Largest number of tuples that may have passed without being acknowledged.
        on_error: Policy for a tuple or group without a value: stop the application, skip it, or send it to a port. Default: `fail`.
        num_tuples_to_ack: An expression over input port 1: the number of tuples that one of its tuples acknowledges. Default: `1`.
        at_end: Tuples that still wait when acknowledgements end: submit or drop them. Default: `submit`.
    """
    return named_use("Gate", plain_keys(locals()))


def HttpSink(
    *,
    url: str,
    headers: Mapping[str, Any] | None = None,
    token: str | None = None,
    ca: str | None = None,
    timeout: float | Reference | None = None,
    format: Literal["jsonl", "json", "csv"] | None = None,
    batch_size: int | Reference | None = None,
    suppress: Sequence[Any] | None = None,
    on_undeliverable: Literal["fail", "route"] | None = None,
    visibility: Literal["read_committed", "read_uncommitted"] | None = None,
) -> Use:
    """Posts every epoch in one or more requests, in order, each with an `Idempotency-Key`.

    Args:
        url: Address http:// or https://, with secrets as ${env:NAME} or ${file:PATH}.
        headers: Headers of each request, with secrets as ${env:NAME} or ${file:PATH}.
        token: Bearer token, as ${env:NAME} or ${file:PATH}.
        ca: File with the trusted certificates instead of the system's.
        timeout: Seconds allowed for one request. Default: `30`.
        format: jsonl: one object per line. json: an array of objects. csv: names, then rows. Default: `jsonl`.
        batch_size: Largest number of tuples in one request. Default: `1000`.
        suppress: Attributes that are left out.
        on_undeliverable: Policy for a tuple that the target can never take. route: set it aside and deliver the others. Default: `fail`.
        visibility: read_uncommitted: post tuples with their batch. Default: `read_committed`.
    """
    return named_use("HttpSink", plain_keys(locals()))


def HttpSource(
    *,
    port: int | Reference,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    format: Literal["json", "csv", "raw"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    max_message_bytes: int | Reference | None = None,
    journal_limit: int | Reference | None = None,
    address: str | None = None,
    path: str | None = None,
    token: str | None = None,
    certificate: str | None = None,
    private_key: str | None = None,
    max_body_bytes: int | Reference | None = None,
    connections: int | Reference | None = None,
    connections_per_address: int | Reference | None = None,
) -> Use:
    """Receives messages by HTTP. A request is answered with 202 once all messages of its body are in the journal.

    Args:
        port: Port to listen at. 0: any free port, which the host's log names.
        separator: Character between the values of a CSV row. Default: `,`.
        null_texts: CSV texts that mean null when they are not quoted. The first one is written.
        on_bad_tuple: Policy for a message that cannot be decoded. stream: send it to the second output port. Default: `fail`.
        on_lost_data: Policy for messages that were deleted before they were read. Default: `fail`.
        format: Format of a message. Default: `json`.
        metadata: Maps an attribute to number, received, or a name of the sender that the source defines.
        max_message_bytes: Largest size of one message in bytes. Default: `1048576`.
        journal_limit: Largest number of unread bytes in the journal. Default: `1073741824`.
        address: Address to listen at. Default: `127.0.0.1`.
        path: Path that requests are posted to. Default: `/`.
        token: Bearer token that requests must have, as ${env:NAME} or ${file:PATH}.
        certificate: File with the certificate for https.
        private_key: File with the private key of the certificate.
        max_body_bytes: Largest size of a request body in bytes. Default: `16777216`.
        connections: Largest number of open connections. Idle connections yield to new ones. Default: `100`.
        connections_per_address: Largest number of open connections from one address.
    """
    return named_use("HttpSource", plain_keys(locals()))


def IcebergSink(
    *,
    catalog: Mapping[str, Any],
    table: str,
    columns: Mapping[str, Any] | None = None,
    suppress: Sequence[Any] | None = None,
    key: Sequence[Any] | None = None,
    create_table: bool | Reference | None = None,
    on_undeliverable: Literal["fail", "route"] | None = None,
    partition_by: Sequence[Any] | None = None,
    add_columns: bool | Reference | None = None,
) -> Use:
    """Adds every epoch to the table in one commit, which stores application, operator and epoch.

    Args:
        catalog: Properties of the catalog as pyiceberg takes them: name, type, uri, warehouse.
        table: Name of the table: namespace.name.
        columns: Maps an attribute to its column where the names differ.
        suppress: Attributes that are not written.
        key: Attributes of the key. A tuple replaces the row with the same key.
        create_table: Create the table if it is missing.
        on_undeliverable: Policy for a tuple that the target can never take. route: set it aside and deliver the others. Default: `fail`.
        partition_by: Columns that the table is partitioned by.
        add_columns: Add a column to the table for each attribute that has none.
    """
    return named_use("IcebergSink", plain_keys(locals()))


def IcebergSource(
    *,
    catalog: Mapping[str, Any],
    table: str,
    start_at: Mapping[str, Any] | Literal["snapshot", "earliest", "latest"] | None = None,
    until: Literal["latest"] | None = None,
    on_change: Literal["fail", "skip", "rewritten"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    poll_period: float | Reference | None = None,
) -> Use:
    """Reads the files that each snapshot of the main branch adds. Snapshots that only rewrite files are not read.

    Args:
        catalog: Properties of the catalog as pyiceberg takes them: name, type, uri, warehouse.
        table: Name of the table: namespace.name.
        start_at: snapshot: read all existing rows, then the added ones. latest: read only rows that are added from now on. earliest: read the rows that were added since the oldest readable version. {version: n} or {time: t}: read the rows that were added from there on. Default: `snapshot`.
        until: latest: end with the version that is the newest one at the start.
        on_change: Policy for a snapshot that deletes or updates rows. skip: do not read it. rewritten: read all rows of the files that it adds, unchanged rows included. Default: `fail`.
        on_lost_data: Policy for versions and files that were deleted before they were read. Default: `fail`.
        poll_period: Seconds between two checks for new versions. Default: `1`.
    """
    return named_use("IcebergSource", plain_keys(locals()))


def Join(
    *,
    on_error: Literal["fail", "skip", "route"] | None = None,
    window: str | Sequence[Any] | None = None,
    within: Sequence[Any] | None = None,
    discard_age: float | Reference | None = None,
    equality_lhs: Sequence[Any] | None = None,
    equality_rhs: Sequence[Any] | None = None,
    match: str | Column | None = None,
    algorithm: Literal["inner", "leftOuter", "rightOuter", "outer"] | None = None,
    partition_by_lhs: Sequence[Any] | None = None,
    partition_by_rhs: Sequence[Any] | None = None,
    absent: Literal["nulls", "defaults"] | None = None,
    default_tuple_lhs: Mapping[str, Any] | None = None,
    default_tuple_rhs: Mapping[str, Any] | None = None,
    window_markers: bool | Reference | None = None,
    at_end: Literal["submit", "drop"] | None = None,
    by: Literal["tuples", "clock"] | None = None,
    output: Mapping[str, Any] | None = None,
    time_attribute: str | None = None,
) -> Use:
    """Adds each tuple to its window and pairs it with the tuples in the other window, in their order.

    Args:
        on_error: Policy for a tuple or group without a value: stop the application, skip it, or send it to a port. Default: `fail`.
        window: Sliding window clause for both streams, or a list with one for each; needed without within. count(0) makes the join one-sided.
        within: Least and greatest difference in seconds of event time: the time of a tuple of port 1 minus the time of its partner. It replaces window.
        discard_age: Seconds before the watermark from which on a tuple is dropped; needs within. Default: `0`.
        equality_lhs: Attributes of port 0 that are compared with the attributes in equalityRHS.
        equality_rhs: Attributes of port 1 that are compared with the attributes in equalityLHS.
        match: A further condition that a pair must meet.
        algorithm: outer: a tuple that never matched is submitted when it leaves its window. `absent` says which values the other side gets. With further output ports it is sent unjoined, to port 1 (left) or the last port (right). Default: `inner`.
        partition_by_lhs: Attributes of port 0 whose values each have their own window; needs partitioned windows.
        partition_by_rhs: Attributes of port 1 whose values each have their own window; needs partitioned windows.
        absent: Attributes of the side that is missing in an outer join: null, or 0, false, empty or the start of 1970. Default: `nulls`.
        default_tuple_lhs: Maps attributes of port 0 to constant expressions, in place of absent.
        default_tuple_rhs: Maps attributes of port 1 to constant expressions, in place of absent.
        window_markers: Submit a window marker to port 0 after the results there of each tuple that has any.
        at_end: Tuples of an outer side that have not matched when both streams end: submit or drop them. Default: `submit`.
        by: Time of time(...) and partitionAge(...): the attribute timeAttribute (tuples), or the clock of the machine. Default: `tuples`.
        output: Maps an attribute to an expression. Other attributes keep their values.
        time_attribute: Timestamp attribute of both streams by which time(...) windows are ordered.
    """
    return named_use("Join", plain_keys(locals()))


def KafkaSink(
    *,
    brokers: str,
    topic: str,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    client: Mapping[str, Any] | None = None,
    format: Literal["json", "csv", "raw", "avro", "protobuf"] | None = None,
    registry: Mapping[str, Any] | None = None,
    subject: str | None = None,
    register_schema: bool | Reference | None = None,
    key: str | None = None,
    partition: str | None = None,
    timestamp: str | None = None,
    headers: Mapping[str, Any] | None = None,
    suppress: Sequence[Any] | None = None,
    on_undeliverable: Literal["fail", "route"] | None = None,
    visibility: Literal["read_committed", "read_uncommitted"] | None = None,
) -> Use:
    """Writes every epoch in one transaction, together with a mark.

    Args:
        brokers: Addresses host:port, separated by commas.
        topic: Topic that messages are written to.
        separator: Character between the values of a CSV row. Default: `,`.
        null_texts: CSV texts that mean null when they are not quoted. The first one is written.
        client: Settings of librdkafka, with secrets as ${env:NAME} or ${file:PATH}.
        format: Format of a message. Default: `json`.
        registry: Schema registry for avro and protobuf: {url: http://host:port}.
        subject: Subject in the schema registry. Default: the topic followed by -value.
        register_schema: Register the schema. If false, use the latest schema of the subject unchanged. Default: `True`.
        key: Attribute that holds the message key.
        partition: Attribute that holds the partition number. Default: the key decides.
        timestamp: Attribute that holds the time of the message. Default: the time of sending.
        headers: Maps a header to an attribute.
        suppress: Attributes that are not in the value.
        on_undeliverable: Policy for a tuple that the target can never take. route: set it aside and deliver the others. Default: `fail`.
        visibility: read_uncommitted: send messages with their batch; a reset does not take them back. Default: `read_committed`.
    """
    return named_use("KafkaSink", plain_keys(locals()))


def KafkaSource(
    *,
    brokers: str,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    client: Mapping[str, Any] | None = None,
    topic: str | Sequence[Any] | None = None,
    pattern: str | None = None,
    format: Literal["json", "csv", "raw", "avro", "protobuf"] | None = None,
    registry: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    start_at: str | None = None,
    until: Literal["latest"] | None = None,
    isolation: Literal["read_committed", "read_uncommitted"] | None = None,
    discovery: float | Reference | None = None,
) -> Use:
    """Reads topics. The offset is the next offset of every partition. A channel reads `partition % width`.

    Args:
        brokers: Addresses host:port, separated by commas.
        separator: Character between the values of a CSV row. Default: `,`.
        null_texts: CSV texts that mean null when they are not quoted. The first one is written.
        on_bad_tuple: Policy for a message that cannot be decoded. stream: send it to the second output port. Default: `fail`.
        on_lost_data: Policy for messages that were deleted before they were read. Default: `fail`.
        client: Settings of librdkafka, with secrets as ${env:NAME} or ${file:PATH}.
        topic: Topic, or a list of topics; pattern is the alternative.
        pattern: A regular expression that must match the whole name of a topic.
        format: Format of a message. Default: `json`.
        registry: Schema registry for avro and protobuf: {url: http://host:port}.
        metadata: Maps an attribute to key, topic, partition, offset, timestamp or header.NAME.
        start_at: Position at which reading begins: earliest, latest or a time in ISO 8601. Default: `earliest`.
        until: latest: end the run after the messages that exist when it begins.
        isolation: read_committed: read only messages of committed transactions. Default: `read_committed`.
        discovery: Seconds between two checks for new partitions. Default: `30`.
    """
    return named_use("KafkaSource", plain_keys(locals()))


def Lookup(
    *,
    table: str,
    key: str | Sequence[Any],
    take: Mapping[str, Any],
    attribute: str | Sequence[Any] | None = None,
    algorithm: Literal["leftOuter", "inner"] | None = None,
) -> Use:
    """Adds to each tuple the attributes of the table row with its key. A null matches no row.

    Args:
        table: CSV or Parquet file, with a path as in FileSource.
        key: Column, or list of columns, of the table to look up. Keys are unique.
        take: Maps a new attribute to a column of the table. It is null where there is no row.
        attribute: Attributes of the stream to look up. Default: those named like the key.
        algorithm: inner: a tuple without a row goes to the second output port, if there is one. Default: `leftOuter`.
    """
    return named_use("Lookup", plain_keys(locals()))


def MQTTSource(
    *,
    url: str,
    topics: Sequence[Any],
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    format: Literal["json", "csv", "raw"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    max_message_bytes: int | Reference | None = None,
    journal_limit: int | Reference | None = None,
    user: str | None = None,
    password: str | None = None,
    qos: Literal[0, 1] | None = None,
    client_id: str | None = None,
) -> Use:
    """Acknowledges a message to the broker once it is in the journal.

    Args:
        url: Address scheme://host:port, without user and password.
        topics: Topic filters such as sensors/+/temperature or sensors/#.
        separator: Character between the values of a CSV row. Default: `,`.
        null_texts: CSV texts that mean null when they are not quoted. The first one is written.
        on_bad_tuple: Policy for a message that cannot be decoded. stream: send it to the second output port. Default: `fail`.
        on_lost_data: Policy for messages that were deleted before they were read. Default: `fail`.
        format: Format of a message. Default: `json`.
        metadata: Maps an attribute to number, received, or a name of the sender that the source defines.
        max_message_bytes: Largest size of one message in bytes. Default: `1048576`.
        journal_limit: Largest number of unread bytes in the journal. Default: `1073741824`.
        user: Name of the user, or a reference ${env:NAME} or ${file:PATH}.
        password: Password of the user, as a reference ${env:NAME} or ${file:PATH}.
        qos: 1: acknowledge a message once it is in the journal. 0: never acknowledge. Default: `1`.
        client_id: Client id by which the broker keeps messages while no host runs.
    """
    return named_use("MQTTSource", plain_keys(locals()))


def Merge(*, order_by: str | Sequence[Any]) -> Use:
    """Merges sorted streams. It submits a tuple once no other port can deliver an earlier one.

    Args:
        order_by: Number or timestamp attribute by which every stream ascends, or a list with one for each port.
    """
    return named_use("Merge", plain_keys(locals()))


def MetricsSink(
    *,
    metrics: str | Column | Sequence[Any],
    on_error: Literal["fail", "skip", "route"] | None = None,
    names: str | Sequence[Any] | None = None,
    descriptions: str | Sequence[Any] | None = None,
    initial_values: float | Reference | Sequence[Any] | None = None,
) -> Use:
    """Sets the operator's custom gauges to the values of expressions.

    Args:
        metrics: An expression, or several expressions. Each tuple sets a metric to the value; null leaves it unchanged.
        on_error: Policy for a tuple or group without a value: stop the application, skip it, or send it to a port. Default: `fail`.
        names: Names of the metrics. Default: the texts in metrics.
        descriptions: Descriptions of the metrics for readers.
        initial_values: Values before the first tuple. Default: 0.
    """
    return named_use("MetricsSink", plain_keys(locals()))


def NATSSource(
    *,
    url: str,
    stream: str,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    format: Literal["json", "csv", "raw"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    max_message_bytes: int | Reference | None = None,
    journal_limit: int | Reference | None = None,
    user: str | None = None,
    password: str | None = None,
    subject: str | None = None,
    consumer: str | None = None,
    token: str | None = None,
    start_at: Literal["earliest", "latest"] | None = None,
) -> Use:
    """Acknowledges a message once it is in the journal. A repeated message is recognised by its number.

    Args:
        url: Address scheme://host:port, without user and password.
        stream: Name of the JetStream stream.
        separator: Character between the values of a CSV row. Default: `,`.
        null_texts: CSV texts that mean null when they are not quoted. The first one is written.
        on_bad_tuple: Policy for a message that cannot be decoded. stream: send it to the second output port. Default: `fail`.
        on_lost_data: Policy for messages that were deleted before they were read. Default: `fail`.
        format: Format of a message. Default: `json`.
        metadata: Maps an attribute to number, received, or a name of the sender that the source defines.
        max_message_bytes: Largest size of one message in bytes. Default: `1048576`.
        journal_limit: Largest number of unread bytes in the journal. Default: `1073741824`.
        user: Name of the user, or a reference ${env:NAME} or ${file:PATH}.
        password: Password of the user, as a reference ${env:NAME} or ${file:PATH}.
        subject: Subject filter. Default: all subjects of the stream.
        consumer: Durable consumer, created if it is missing. Default: one for this operator.
        token: Token of the user, as ${env:NAME} or ${file:PATH}.
        start_at: Position at which a new consumer begins. Default: `earliest`.
    """
    return named_use("NATSSource", plain_keys(locals()))


def Pair(*, partition_by: Sequence[Any] | None = None) -> Use:
    """Submits matching tuples in port order, then a marker, once every input port has delivered one.

    Args:
        partition_by: Attributes whose values match tuples: one list for all ports, or a list for each port.
    """
    return named_use("Pair", plain_keys(locals()))


def Parse(
    *,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    has_header_line: bool | Reference | int | None = None,
    quote_strings: bool | Reference | None = None,
    parsing: Literal["strict", "permissive", "fast"] | None = None,
    eol_marker: str | None = None,
    default_tuple: Mapping[str, Any] | None = None,
    ignore_extra_csv_values: bool | Reference | None = None,
    has_delay_field: bool | Reference | None = None,
    types: Mapping[str, Any] | None = None,
    block_size: int | Reference | None = None,
    output: Mapping[str, Any] | None = None,
    format: Literal["csv", "line", "jsonl", "splCsv", "splTxt", "block", "bin"] | None = None,
    parse_input: str | Column | None = None,
    spl: Mapping[str, Any] | None = None,
    window_markers: Literal["forward", "end"] | None = None,
) -> Use:
    """Joins the bytes of all tuples into one text and submits its rows as tuples.

    Args:
        separator: Character between the values of a CSV row. Default: `,`.
        null_texts: CSV texts that mean null when they are not quoted. The first one is written.
        has_header_line: The first line of a CSV file names the columns; true by default. With splCsv, lines to skip; false by default.
        quote_strings: CSV values may be quoted. If false, a quote is an ordinary character. Default: `True`.
        parsing: permissive: drop and count malformed rows. strict and fast: stop at one. Default: `strict`.
        eol_marker: Text that ends a line; a line feed, with or without a carriage return, by default.
        default_tuple: Maps attributes to constant expressions for values that are missing in a row of splCsv.
        ignore_extra_csv_values: Ignore values after the last attribute in a row of splCsv.
        has_delay_field: A row of splCsv or splTxt begins with the seconds to wait before its tuple, and a comma. Delays are ignored if there is an input port.
        types: Maps attributes to their types in SPL if the values' texts depend on them, as in enum{red, green}, set<int32> and decimal64; for the formats splCsv, splTxt and bin.
        block_size: Bytes of a block; the whole file by default.
        output: Maps attributes that are not in the rows to FileName() or TupleNumber(), or expressions of SPL.
        format: Format of a row, which ends with a line feed. splCsv: SPL literals by position; splTxt: an SPL tuple; block: blockSize bytes; bin: SPL's binary encoding. Default: `csv`.
        parse_input: Attribute that holds the bytes or text, or an expression. May be omitted if there is only one.
        spl: Logic in SPL that runs before the bytes of a tuple are parsed.
        window_markers: forward: a window marker ends a row and is forwarded. end: a single marker follows the last tuple. Default: `forward`.
    """
    return named_use("Parse", plain_keys(locals()))


def PostgresChangeSource(
    *,
    url: str,
    table: str,
    slot: str,
    publication: str,
    columns: Mapping[str, Any] | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    changes: Sequence[Any] | None = None,
    start_at: Literal["snapshot", "slot"] | None = None,
    until: Literal["latest"] | None = None,
    poll_period: float | Reference | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
) -> Use:
    """Peeks at a replication slot. The offset is a position in the server's log.

    Args:
        url: SQLAlchemy URL of a PostgreSQL server. ${env:NAME} means an environment variable.
        table: Table as name or schema.name.
        slot: Replication slot for this source alone, created if it is missing.
        publication: Publication that contains the table.
        columns: Maps an attribute to its column where the names differ.
        on_bad_tuple: Policy for a row that does not fit. stream: send it to the second output port. Default: `fail`.
        metadata: Maps an attribute to change, committed, position or transaction.
        changes: Kinds of changes that become tuples.
        start_at: snapshot: read all existing rows, then the changes. slot: read the changes that the slot has kept. Default: `snapshot`.
        until: latest: end after the changes that exist when the run begins.
        poll_period: Seconds between two checks for new changes. Default: `0.2`.
        on_lost_data: Policy for changes that were deleted before they were read. Default: `fail`.
    """
    return named_use("PostgresChangeSource", plain_keys(locals()))


def Punctor(
    *,
    punctuate: str | Column,
    position: Literal["before", "after"],
    on_error: Literal["fail", "skip", "route"] | None = None,
    output: Mapping[str, Any] | None = None,
) -> Use:
    """Computes tuples as Functor does, and inserts a window marker before or after the tuples that meet a condition.

    Args:
        punctuate: A condition. A tuple for which it is true gets a window marker.
        position: Position of the marker: before or after the tuple.
        on_error: Policy for a tuple or group without a value: stop the application, skip it, or send it to a port. Default: `fail`.
        output: Maps an attribute to an expression. Other attributes keep their values.
    """
    return named_use("Punctor", plain_keys(locals()))


def RedisSource(
    *,
    url: str,
    stream: str,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    format: Literal["json", "csv", "raw"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    max_message_bytes: int | Reference | None = None,
    journal_limit: int | Reference | None = None,
    user: str | None = None,
    password: str | None = None,
    group: str | None = None,
    field: str | None = None,
    start_at: Literal["earliest", "latest"] | None = None,
) -> Use:
    """Acknowledges an entry once it is in the journal. A repeated entry is recognised by its id.

    Args:
        url: Address scheme://host:port, without user and password.
        stream: Key of the stream, which is created if it is missing.
        separator: Character between the values of a CSV row. Default: `,`.
        null_texts: CSV texts that mean null when they are not quoted. The first one is written.
        on_bad_tuple: Policy for a message that cannot be decoded. stream: send it to the second output port. Default: `fail`.
        on_lost_data: Policy for messages that were deleted before they were read. Default: `fail`.
        format: Format of a message. Default: `json`.
        metadata: Maps an attribute to number, received, or a name of the sender that the source defines.
        max_message_bytes: Largest size of one message in bytes. Default: `1048576`.
        journal_limit: Largest number of unread bytes in the journal. Default: `1073741824`.
        user: Name of the user, or a reference ${env:NAME} or ${file:PATH}.
        password: Password of the user, as a reference ${env:NAME} or ${file:PATH}.
        group: Consumer group, created if it is missing. Default: one for this operator.
        field: Field of an entry that holds the message. Default: `data`.
        start_at: Position at which a new group begins. Default: `earliest`.
    """
    return named_use("RedisSource", plain_keys(locals()))


def ReplayableStart() -> Use:
    """Passes tuples on, and starts a consistent region with the tuples of a source that cannot start it."""
    return named_use("ReplayableStart", plain_keys(locals()))


def Sort(
    *,
    on_error: Literal["fail", "skip", "route"] | None = None,
    window: str | None = None,
    sort_by: Sequence[Any] | None = None,
    order: Literal["ascending", "descending"] | Sequence[Any] | None = None,
    partition_by: Sequence[Any] | None = None,
    time_attribute: str | None = None,
    by: Literal["tuples", "clock"] | None = None,
    output: Mapping[str, Any] | None = None,
    at_end: Literal["submit", "drop"] | None = None,
) -> Use:
    """Sorts windows. A tumbling window is submitted in order when it closes, followed by a window marker.

    Args:
        on_error: Policy for a tuple or group without a value: stop the application, skip it, or send it to a port. Default: `fail`.
        window: Window clause. A sliding window must be a count. Panes of event time are sorted when they fire. eventTime submits tuples in order of event time once the watermark has passed them. Default: `tumbling, punct()`.
        sort_by: List of expressions in order of precedence; needed unless the window is eventTime.
        order: ascending or descending, for all sort keys or for each. Default: `ascending`.
        partition_by: Attributes whose values each have their own window.
        time_attribute: Timestamp attribute by which time(...) windows are ordered.
        by: Time of time(...) and partitionAge(...): the attribute timeAttribute (tuples), or the clock of the machine. Default: `tuples`.
        output: Maps an attribute to an expression. Other attributes keep their values.
        at_end: Tumbling windows that are open when the stream ends: submit or drop them. Sliding windows are submitted. Default: `submit`.
    """
    return named_use("Sort", plain_keys(locals()))


def Split(
    *,
    on_error: Literal["fail", "skip", "route"] | None = None,
    index: str | Column | int | Reference | Sequence[Any] | None = None,
    file: str | None = None,
    key: str | Column | None = None,
    repeat: bool | Reference | None = None,
    unlisted: Literal["drop", "fail"] | None = None,
) -> Use:
    """Sends each tuple to output ports, at most once to each unless `repeat` is true.

    Args:
        on_error: Policy for a tuple or group without a value: stop the application, skip it, or send it to a port. Default: `fail`.
        index: An expression for the port number, or a list of numbers, modulo the number of ports. A tuple with a negative or null number is dropped.
        file: CSV file of keys with their indexes, written as for `index`: `UA,0,2`, `default,-1`. A `#` after the indexes or in front of a line begins a comment.
        key: An expression whose value, as text, is looked up in the file.
        repeat: Send a tuple to a port as often as index, or the line of the file, names the port.
        unlisted: A tuple whose key is not in a file without a line `default`: drop it, or stop the application. Default: `drop`.
    """
    return named_use("Split", plain_keys(locals()))


def Sql(
    *,
    query: str,
    watermarks: Mapping[str, Any] | None = None,
    output_delay: float | Reference | None = None,
    static: Mapping[str, Any] | None = None,
    output_mode: Literal["append", "update"] | None = None,
    flush: bool | Reference | None = None,
) -> Use:
    """Runs a query over the input streams with Spark Structured Streaming, including windows, joins and aggregates.

    Args:
        query: SELECT statement of Spark SQL. Each input stream is a view with its name.
        watermarks: Maps an input stream to its event time: {attribute, delay}, as in Spark, or eventTime for the watermark of its event-time graph.
        output_delay: Seconds of event time by which results may be older than the input's watermark. The default is computed from the windows and joins of the query.
        static: Maps a name to a table that does not stream: {file, format, schema, options}.
        output_mode: append: rows are submitted once they are final. update: they are submitted whenever they change. Default: `append`.
        flush: Close all windows and joins when the input has ended. Default: `True`.
    """
    return named_use("Sql", plain_keys(locals()))


def SqlSink(
    *,
    url: str,
    table: str,
    columns: Mapping[str, Any] | None = None,
    suppress: Sequence[Any] | None = None,
    key: Sequence[Any] | None = None,
    create_table: bool | Reference | None = None,
    on_undeliverable: Literal["fail", "route"] | None = None,
    visibility: Literal["read_committed", "read_uncommitted"] | None = None,
) -> Use:
    """Writes every epoch in one transaction, together with a mark in `streams_deliveries`.

    Args:
        url: SQLAlchemy URL of SQLite, PostgreSQL, MariaDB or MySQL. ${env:NAME} means an environment variable.
        table: Table as name or schema.name.
        columns: Maps an attribute to its column where the names differ.
        suppress: Attributes that are not written.
        key: Attributes of the key. A tuple replaces the row with the same key.
        create_table: Create the table if it is missing.
        on_undeliverable: Policy for a tuple that the target can never take. route: set it aside and deliver the others. Default: `fail`.
        visibility: read_uncommitted: write rows with their batch; a reset does not take them back. Default: `read_committed`.
    """
    return named_use("SqlSink", plain_keys(locals()))


def SqlSource(
    *,
    url: str,
    column: str,
    columns: Mapping[str, Any] | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    table: str | None = None,
    query: str | None = None,
    start_at: int | Reference | str | None = None,
    until: Literal["latest"] | None = None,
    poll_period: float | Reference | None = None,
    settle: float | Reference | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
) -> Use:
    """Reads rows by a growing column. The offset is the last value read and the number of rows read recently.

    Args:
        url: SQLAlchemy URL of SQLite, PostgreSQL, MariaDB or MySQL. ${env:NAME} means an environment variable.
        column: Column whose values grow from row to row.
        columns: Maps an attribute to its column where the names differ.
        on_bad_tuple: Policy for a row that does not fit. stream: send it to the second output port. Default: `fail`.
        table: Table as name or schema.name.
        query: SELECT statement instead of a table.
        start_at: earliest, latest, or a value; rows with larger values are read. Default: `earliest`.
        until: latest: end after the rows that exist when the run begins.
        poll_period: Seconds between two checks for new rows. Default: `1`.
        settle: Longest time in seconds between an insert and its commit; rows that become visible later count as lost data. Default: `2`.
        on_lost_data: Policy for rows that become visible with a value below the position. Default: `fail`.
    """
    return named_use("SqlSource", plain_keys(locals()))


def Switch(
    *,
    status: str | Column,
    on_error: Literal["fail", "skip", "route"] | None = None,
    initial_status: bool | Reference | None = None,
) -> Use:
    """Passes the tuples of input port 0 while the switch is closed; while it is open they wait in order.

    Args:
        status: A condition over input port 1. True closes the switch; anything else opens it.
        on_error: Policy for a tuple or group without a value: stop the application, skip it, or send it to a port. Default: `fail`.
        initial_status: The switch is closed at the beginning.
    """
    return named_use("Switch", plain_keys(locals()))


def TCPSink(
    *,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    format: Literal["json", "csv", "line", "splCsv", "splTxt", "block", "bin"] | None = None,
    quote_strings: bool | Reference | None = None,
    suppress: Sequence[Any] | None = None,
    encoding: str | None = None,
    eol_marker: str | None = None,
    types: Mapping[str, Any] | None = None,
    visibility: Literal["read_committed", "read_uncommitted"] | None = None,
    role: Literal["server", "client"] | None = None,
    address: str | None = None,
    port: int | Reference | None = None,
    name: str | None = None,
    compression: Literal["zlib", "gzip", "bzip2"] | None = None,
) -> Use:
    """Sends the tuples of each complete epoch, or batch if `visibility: read_uncommitted`, to the receiver, in order.

    Args:
        separator: Character between the values of a CSV row. Default: `,`.
        null_texts: CSV texts that mean null when they are not quoted. The first one is written.
        format: Format of a tuple, which ends with a line feed. json: an object. line: the only text. splCsv: SPL literals; splTxt: an SPL tuple; block: the bytes of the only attribute, and bin: SPL's binary encoding, both without a line feed. Default: `json`.
        quote_strings: Quote CSV values that require it. Default: `True`.
        suppress: Attributes that are not written.
        encoding: Encoding of the texts in splCsv, splTxt and line. Default: `utf-8`.
        eol_marker: Text that ends a tuple in splCsv, splTxt and line.
        types: Maps attributes to their types in SPL if the values' texts depend on them, as in enum{red, green}, set<int32> and decimal64; for the formats splCsv, splTxt and bin.
        visibility: read_uncommitted: send tuples with their batch. Default: `read_committed`.
        role: client: connect. server: listen, and send to one client at a time. Default: `client`.
        address: Address to connect to, or to listen at. Default: `127.0.0.1`.
        port: Port. 0, for a server: any free port, which the log names.
        name: Name of the server in the state directory, in place of a port: a server is registered, a client looks it up.
        compression: Compression of all the bytes of a connection; none by default.
    """
    return named_use("TCPSink", plain_keys(locals()))


def TCPSource(
    *,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    format: Literal["json", "csv", "raw", "splCsv", "splTxt", "line", "block", "bin"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    max_message_bytes: int | Reference | None = None,
    journal_limit: int | Reference | None = None,
    types: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    eol_marker: str | None = None,
    default_tuple: Mapping[str, Any] | None = None,
    ignore_extra_csv_values: bool | Reference | None = None,
    role: Literal["server", "client"] | None = None,
    address: str | None = None,
    port: int | Reference | None = None,
    name: str | None = None,
    framing: Literal["lines", "length"] | None = None,
    block_size: int | Reference | None = None,
    compression: Literal["zlib", "gzip", "bzip2"] | None = None,
    connections: int | Reference | None = None,
    connections_per_address: int | Reference | None = None,
    acknowledge: bool | Reference | None = None,
) -> Use:
    """Reads messages from connections into the journal, and submits tuples from the journal.

    Args:
        separator: Character between the values of a CSV row. Default: `,`.
        null_texts: CSV texts that mean null when they are not quoted. The first one is written.
        on_bad_tuple: Policy for a message that cannot be decoded. stream: send it to the second output port. Default: `fail`.
        on_lost_data: Policy for messages that were deleted before they were read. Default: `fail`.
        format: Format of a message. splCsv: SPL literals by position; splTxt: an SPL tuple; line: a text; block: bytes; bin: a tuple in SPL's binary encoding. Default: `json`.
        metadata: Maps an attribute to number, received, or a name of the sender that the source defines.
        max_message_bytes: Largest size of one message in bytes. Default: `1048576`.
        journal_limit: Largest number of unread bytes in the journal. Default: `1073741824`.
        types: Maps attributes to their types in SPL if the values' texts depend on them, as in enum{red, green}, set<int32> and decimal64; for the formats splCsv, splTxt and bin.
        encoding: Encoding of the texts in splCsv, splTxt and line. Default: `utf-8`.
        eol_marker: Text that ends a message of splCsv, splTxt or line; a line feed, with or without a carriage return, by default.
        default_tuple: Maps attributes to constant expressions for values that are missing in a message of splCsv.
        ignore_extra_csv_values: Ignore values after the last attribute in a message of splCsv.
        role: server: listen for connections. client: connect. Default: `server`.
        address: Address to listen at, or to connect to. Default: `127.0.0.1`.
        port: Port. 0, for a server: any free port, which the host's log names.
        name: Name of the server in the state directory, in place of a port: a server is registered, a client looks it up.
        framing: Framing of json, csv and raw. lines: by line feeds. length: by four bytes in front of each. Default: `lines`.
        block_size: Bytes of a message of the format block.
        compression: Compression of all the bytes of a connection; none by default.
        connections: Largest number of open connections of a server. Silent connections yield to new ones. Default: `100`.
        connections_per_address: Largest number of open connections of a server from one address.
        acknowledge: Answer with the number of messages of the connection that are in the journal.
    """
    return named_use("TCPSource", plain_keys(locals()))


def ThreadedSplit() -> Use:
    """Sends tuples to the output ports in turn."""
    return named_use("ThreadedSplit", plain_keys(locals()))


def Throttle(*, rate: float | Reference) -> Use:
    """Passes every batch on, then pauses for as long as the rate requires.

    Args:
        rate: Largest number of tuples per second.
    """
    return named_use("Throttle", plain_keys(locals()))


def UDPSink(
    *,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    format: Literal["json", "csv", "line", "splCsv", "splTxt", "block", "bin"] | None = None,
    quote_strings: bool | Reference | None = None,
    suppress: Sequence[Any] | None = None,
    encoding: str | None = None,
    eol_marker: str | None = None,
    types: Mapping[str, Any] | None = None,
    visibility: Literal["read_committed", "read_uncommitted"] | None = None,
    address: str | None = None,
    port: int | Reference | None = None,
    name: str | None = None,
    time_to_live: int | Reference | None = None,
) -> Use:
    """Sends a datagram for each tuple. Nobody acknowledges datagrams, so they may be lost without notice.

    Args:
        separator: Character between the values of a CSV row. Default: `,`.
        null_texts: CSV texts that mean null when they are not quoted. The first one is written.
        format: Format of a tuple, which ends with a line feed. json: an object. line: the only text. splCsv: SPL literals; splTxt: an SPL tuple; block: the bytes of the only attribute, and bin: SPL's binary encoding, both without a line feed. Default: `json`.
        quote_strings: Quote CSV values that require it. Default: `True`.
        suppress: Attributes that are not written.
        encoding: Encoding of the texts in splCsv, splTxt and line. Default: `utf-8`.
        eol_marker: Text that ends a tuple in splCsv, splTxt and line.
        types: Maps attributes to their types in SPL if the values' texts depend on them, as in enum{red, green}, set<int32> and decimal64; for the formats splCsv, splTxt and bin.
        visibility: read_uncommitted: send tuples with their batch. Default: `read_committed`.
        address: Address to send to, which may be a multicast group.
        port: Port to send to.
        name: Name of the server in the state directory, in place of a port: a server is registered, a client looks it up.
        time_to_live: Routers that datagrams to a group may pass. Default: `1`.
    """
    return named_use("UDPSink", plain_keys(locals()))


def UDPSource(
    *,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    format: Literal["json", "csv", "raw", "splCsv", "splTxt", "line", "block", "bin"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    max_message_bytes: int | Reference | None = None,
    journal_limit: int | Reference | None = None,
    types: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    eol_marker: str | None = None,
    default_tuple: Mapping[str, Any] | None = None,
    ignore_extra_csv_values: bool | Reference | None = None,
    address: str | None = None,
    port: int | Reference | None = None,
    name: str | None = None,
) -> Use:
    """Receives each datagram as a message, without a line feed at its end unless it is a block or a binary tuple.

    Args:
        separator: Character between the values of a CSV row. Default: `,`.
        null_texts: CSV texts that mean null when they are not quoted. The first one is written.
        on_bad_tuple: Policy for a message that cannot be decoded. stream: send it to the second output port. Default: `fail`.
        on_lost_data: Policy for messages that were deleted before they were read. Default: `fail`.
        format: Format of a message. splCsv: SPL literals by position; splTxt: an SPL tuple; line: a text; block: bytes; bin: a tuple in SPL's binary encoding. Default: `json`.
        metadata: Maps an attribute to number, received, or a name of the sender that the source defines.
        max_message_bytes: Largest size of one message in bytes. Default: `1048576`.
        journal_limit: Largest number of unread bytes in the journal. Default: `1073741824`.
        types: Maps attributes to their types in SPL if the values' texts depend on them, as in enum{red, green}, set<int32> and decimal64; for the formats splCsv, splTxt and bin.
        encoding: Encoding of the texts in splCsv, splTxt and line. Default: `utf-8`.
        eol_marker: Text that ends a message of splCsv, splTxt or line; a line feed, with or without a carriage return, by default.
        default_tuple: Maps attributes to constant expressions for values that are missing in a message of splCsv.
        ignore_extra_csv_values: Ignore values after the last attribute in a message of splCsv.
        address: Address to listen at. Default: `127.0.0.1`.
        port: Port to listen at. 0: any free port, which the host's log names.
        name: Name of the server in the state directory, in place of a port: a server is registered, a client looks it up.
    """
    return named_use("UDPSource", plain_keys(locals()))


def Union() -> Use:
    """Forwards the tuples of all ports in order of arrival, with the attributes of the output stream."""
    return named_use("Union", plain_keys(locals()))


def XMLParse(
    *,
    trigger: str | Sequence[Any],
    xml_input: str | None = None,
    parsing: Literal["strict", "permissive"] | None = None,
    paths: Mapping[str, Any] | Sequence[Any] | None = None,
    path_lists: Mapping[str, Any] | Sequence[Any] | None = None,
    output: Mapping[str, Any] | Sequence[Any] | None = None,
) -> Use:
    """Submits a tuple for each element that a trigger names, and a window marker after each document.

    Args:
        trigger: Path of the elements that give a tuple, as in /a/b; one for each output port.
        xml_input: Attribute with the text or bytes of documents, which may continue in the next tuple. May be omitted if there is only one.
        parsing: permissive: drop and count documents that are not well-formed, and elements without a value. Default: `strict`.
        paths: Maps names for expressions to paths in the element, as in name/text() or @id; '' for none.
        path_lists: Maps names for expressions to paths whose texts are a list.
        output: Maps attributes to expressions over these names and the attributes of the input stream.
    """
    return named_use("XMLParse", plain_keys(locals()))
