"""The standard operators with their parameters, to be put into an application.

`make docs` writes this module from the models of the parameters; edit those.
"""

# ruff: noqa: E501, N802, PLR0913

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

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
    aggregate_incomplete_windows: bool | Reference | None = None,
    aggregate_evicted_partitions: bool | Reference | None = None,
) -> Use:
    """Whenever a window is closed or triggered, a tuple for every group in it, in order of appearance, then a marker.

    Args:
        window: the window clause: tumbling, punct().
        on_error: policy for a tuple or group without a value: stop the application, skip it, or send it to a port.
        group_by: attributes that make a group.
        partition_by: attributes whose every value has a window of its own.
        output: attribute -> an output function, as Average(e); others come from groupBy, partitionBy.
        time_attribute: the timestamp that time(...) windows go by.
        aggregate_incomplete_windows: tumbling windows that the end cuts off, too.
        aggregate_evicted_partitions: tumbling windows of partitions that are given up, too.
    """
    return named_use(
        "Aggregate",
        {
            "window": window,
            "onError": on_error,
            "groupBy": group_by,
            "partitionBy": partition_by,
            "output": output,
            "timeAttribute": time_attribute,
            "aggregateIncompleteWindows": aggregate_incomplete_windows,
            "aggregateEvictedPartitions": aggregate_evicted_partitions,
        },
    )


def Barrier(*, partition_by: Sequence[Any] | None = None, output: Mapping[str, Any] | None = None) -> Use:
    """When a tuple has come to every input port, one tuple is submitted that is made of them.

    Args:
        partition_by: attributes by whose values tuples are matched: the same of all ports, or a list for each port.
        output: attribute -> expression; what several ports have is called in0_name, in1_name and so on.
    """
    return named_use("Barrier", {"partitionBy": partition_by, "output": output})


def Beacon(
    *,
    iterations: int | Reference | None = None,
    period: float | Reference | None = None,
    init_delay: float | Reference | None = None,
    trigger_count: int | Reference | None = None,
    output: Mapping[str, Any] | None = None,
) -> Use:
    """The offset is the number of tuples so far, and all that a tuple depends on; the clock says only when it comes.

    Args:
        iterations: number of tuples; without it there is no end.
        period: seconds between tuples.
        init_delay: seconds before the first tuple.
        trigger_count: tuples in an epoch of the region that the Beacon drives.
        output: attribute -> expression over IterationCount(); others are 0, false, '' or null.
    """
    return named_use(
        "Beacon",
        {
            "iterations": iterations,
            "period": period,
            "initDelay": init_delay,
            "triggerCount": trigger_count,
            "output": output,
        },
    )


def Custom(
    *,
    function: str | None = None,
    on_tuple: str | None = None,
    on_punctuation: str | None = None,
    state: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> Use:
    """The functions take what they need, by name: `batch`, `values` or `mark`; `port`, `state`, `arguments`, `metrics`.

    Args:
        function: package.module:name, called for every batch.
        on_tuple: package.module:name, called for every tuple, instead of function.
        on_punctuation: package.module:name, called for every mark.
        state: what `state` holds at the beginning.
        arguments: given to the functions as `arguments`.
    """
    return named_use(
        "Custom",
        {
            "function": function,
            "onTuple": on_tuple,
            "onPunctuation": on_punctuation,
            "state": state,
            "arguments": arguments,
        },
    )


def DataFrame(
    *,
    function: str,
    watermarks: Mapping[str, Any] | None = None,
    static: Mapping[str, Any] | None = None,
    output_mode: Literal["append", "update"] | None = None,
    flush: bool | Reference | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> Use:
    """Calls a function with a streaming DataFrame for each input port, once, and streams what it returns.

    Args:
        function: package.module:name of a function of one DataFrame for each input port.
        watermarks: input stream -> its event time: {attribute, delay}, as in Spark.
        static: name -> a table that does not stream: {file, format, schema, options}.
        output_mode: rows when they are final, or whenever they change.
        flush: close all windows and joins when the input has ended.
        arguments: further arguments of the function, by name.
    """
    return named_use(
        "DataFrame",
        {
            "function": function,
            "watermarks": watermarks,
            "static": static,
            "outputMode": output_mode,
            "flush": flush,
            "arguments": arguments,
        },
    )


def DeDuplicate(
    *,
    on_error: Literal["fail", "skip", "route"] | None = None,
    key: str | Column | Sequence[Any] | None = None,
    count: int | Reference | None = None,
    delta: float | Reference | None = None,
    delta_attribute: str | None = None,
    reset_on_duplicate: bool | Reference | None = None,
    flush_on_punctuation: bool | Reference | None = None,
) -> Use:
    """Output port 0 gets the tuples whose key is not remembered; port 1, where connected, the others.

    Args:
        on_error: policy for a tuple or group without a value: stop the application, skip it, or send it to a port.
        key: expressions that make the key; else all attributes.
        count: a key is remembered for so many further tuples.
        delta: a key is remembered until deltaAttribute has grown by.
        delta_attribute: a number, or a time, which delta gives in seconds.
        reset_on_duplicate: a duplicate, too, lets its key be remembered anew.
        flush_on_punctuation: a window marker forgets all keys.
    """
    return named_use(
        "DeDuplicate",
        {
            "onError": on_error,
            "key": key,
            "count": count,
            "delta": delta,
            "deltaAttribute": delta_attribute,
            "resetOnDuplicate": reset_on_duplicate,
            "flushOnPunctuation": flush_on_punctuation,
        },
    )


def Delay(*, delay: float | Reference, time_attribute: str) -> Use:
    """A tuple is submitted when one has come that is `delay` seconds later, by `timeAttribute`.

    Args:
        delay: seconds for which a tuple waits, by timeAttribute.
        time_attribute: the timestamp that says when a tuple was.
    """
    return named_use("Delay", {"delay": delay, "timeAttribute": time_attribute})


def DeltaSink(
    *,
    table: str,
    columns: Mapping[str, Any] | None = None,
    suppress: Sequence[Any] | None = None,
    key: Sequence[Any] | None = None,
    partition_by: Sequence[Any] | None = None,
    create_table: bool | Reference | None = None,
    add_columns: bool | Reference | None = None,
    on_undeliverable: Literal["fail", "route"] | None = None,
    storage: Mapping[str, Any] | None = None,
) -> Use:
    """Every epoch is one version of the table, whose transaction names application, operator and epoch.

    Args:
        table: directory of the table; a relative one is among the results; or an address.
        columns: attribute: column, where the names differ.
        suppress: attributes that are not written.
        key: attributes: a tuple replaces the row that has them.
        partition_by: columns that the table is partitioned by.
        create_table: make the table if it is missing.
        add_columns: add columns to the table for attributes that it has none for.
        on_undeliverable: of a tuple that the target can never take; route: it is set aside, the others are delivered.
        storage: how an object store is reached.
    """
    return named_use(
        "DeltaSink",
        {
            "table": table,
            "columns": columns,
            "suppress": suppress,
            "key": key,
            "partitionBy": partition_by,
            "createTable": create_table,
            "addColumns": add_columns,
            "onUndeliverable": on_undeliverable,
            "storage": storage,
        },
    )


def DeltaSource(
    *,
    table: str,
    start_at: Mapping[str, Any] | Literal["snapshot", "earliest", "latest"] | None = None,
    until: Literal["latest"] | None = None,
    on_change: Literal["fail", "skip", "rewritten", "feed"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    poll_period: float | Reference | None = None,
    storage: Mapping[str, Any] | None = None,
) -> Use:
    """Reads the files that each version of the log adds; those that only move rows, as OPTIMIZE does, add nothing.

    Args:
        table: directory of the table; relative to the spec, or an address.
        start_at: snapshot: all rows there are, then what is added; latest: only what is added; earliest: what was added since the oldest version that can be read; {version: n} or {time: t}: what was added from there on.
        until: latest: end with the version that is the newest one at the start.
        on_change: of a version that deletes or updates rows; skip: nothing of it; rewritten: the rows of all files that it adds, also those that are as before; feed: the changes themselves.
        on_lost_data: of versions and files that are gone before they were read.
        poll_period: seconds between two looks.
        storage: how an object store is reached.
    """
    return named_use(
        "DeltaSource",
        {
            "table": table,
            "startAt": start_at,
            "until": until,
            "onChange": on_change,
            "onLostData": on_lost_data,
            "pollPeriod": poll_period,
            "storage": storage,
        },
    )


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
) -> Use:
    """A tuple for each file of a directory, and for each that comes into it; directories in it are left out.

    Args:
        directory: relative to the spec, absolute, or an address.
        storage: how the store of an address is reached.
        pattern: regular expression that is looked for in names of files.
        sort_by: what the files of one look are in order of; date: then by name.
        order: of the files of one look.
        sleep_time: seconds between two looks for new files.
        ignore_dot_files: files whose names begin with a dot are left out.
        ignore_existing_files_at_startup: files of the first look are left out.
        until: latest: it ends with the files of the first look.
        metadata: attribute -> path, name, directory, size or modified; if left out one attribute gets the path.
    """
    return named_use(
        "DirectoryScan",
        {
            "directory": directory,
            "storage": storage,
            "pattern": pattern,
            "sortBy": sort_by,
            "order": order,
            "sleepTime": sleep_time,
            "ignoreDotFiles": ignore_dot_files,
            "ignoreExistingFilesAtStartup": ignore_existing_files_at_startup,
            "until": until,
            "metadata": metadata,
        },
    )


def DynamicFilter(
    *,
    key: str | Column | Sequence[Any],
    add_key: str | Column | Sequence[Any],
    on_error: Literal["fail", "skip", "route"] | None = None,
    remove_key: str | Column | Sequence[Any] | None = None,
) -> Use:
    """Output port 0 gets the tuples whose key was added and not removed since; port 1, where connected, the others.

    Args:
        key: expressions over input port 0 that make the key of a tuple.
        add_key: expressions over port 1, whose keys let tuples pass from then.
        on_error: policy for a tuple or group without a value: stop the application, skip it, or send it to a port.
        remove_key: expressions over port 2, whose keys let none pass any more.
    """
    return named_use("DynamicFilter", {"key": key, "addKey": add_key, "onError": on_error, "removeKey": remove_key})


def FileSink(
    *,
    file: str,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    storage: Mapping[str, Any] | None = None,
    format: Literal["parquet", "csv", "jsonl", "arrow"] | None = None,
    quote_strings: bool | Reference | None = None,
    suppress: Sequence[Any] | None = None,
    partition_by: Sequence[Any] | None = None,
    close_mode: Literal["size", "time", "epochs", "batch"] | None = None,
    bytes_per_file: int | Reference | None = None,
    time_per_file: float | Reference | None = None,
    epochs_per_file: int | Reference | None = None,
    truncate_on_reset: bool | Reference | None = None,
    visibility: Literal["read_committed", "read_uncommitted"] | None = None,
) -> Use:
    """Files `part-<epoch>-<batch>-<channel>` in the directory `file`, or in directories of `partitionBy` in it.

    Args:
        file: directory for the parts; a relative one is among the results; or an address.
        separator: csv.
        null_texts: csv: texts that are null without quotes; first is written.
        storage: how an object store is reached.
        format: of the files.
        quote_strings: csv: values stand in quotes where they need them.
        suppress: attributes that are not written.
        partition_by: attributes whose values name directories for the files.
        close_mode: when a file is closed; without it, by what is there of the next.
        bytes_per_file: about.
        time_per_file: seconds, about.
        epochs_per_file: complete epochs.
        truncate_on_reset: what was written after the cut is gone after a reset, always.
        visibility: read_uncommitted: a part is visible with its batch, and a reset takes it back.
    """
    return named_use(
        "FileSink",
        {
            "file": file,
            "separator": separator,
            "nullTexts": null_texts,
            "storage": storage,
            "format": format,
            "quoteStrings": quote_strings,
            "suppress": suppress,
            "partitionBy": partition_by,
            "closeMode": close_mode,
            "bytesPerFile": bytes_per_file,
            "timePerFile": time_per_file,
            "epochsPerFile": epochs_per_file,
            "truncateOnReset": truncate_on_reset,
            "visibility": visibility,
        },
    )


def FileSource(
    *,
    file: str | None = None,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    storage: Mapping[str, Any] | None = None,
    format: Literal["csv", "line", "jsonl", "parquet", "arrow"] | None = None,
    has_header_line: bool | Reference | None = None,
    quote_strings: bool | Reference | None = None,
    parsing: Literal["strict", "permissive", "fast"] | None = None,
) -> Use:
    """Reads each file once, front to back; the offset is the file and the number of its rows so far.

    Args:
        file: file, directory or pattern; relative to the spec, package://<package>/<path>, or an address.
        separator: csv.
        null_texts: csv: texts that are null without quotes; first is written.
        storage: how the store of an address is reached.
        format: of the files.
        has_header_line: csv: the first line names columns.
        quote_strings: csv: values may stand in quotes; else a quote is a character.
        parsing: permissive: malformed rows are dropped and counted; fast is strict here.
    """
    return named_use(
        "FileSource",
        {
            "file": file,
            "separator": separator,
            "nullTexts": null_texts,
            "storage": storage,
            "format": format,
            "hasHeaderLine": has_header_line,
            "quoteStrings": quote_strings,
            "parsing": parsing,
        },
    )


def Filter(*, on_error: Literal["fail", "skip", "route"] | None = None, filter: str | Column | None = None) -> Use:
    """Output port 0 gets the tuples for which `filter` is true; port 1, where connected, the others.

    Args:
        on_error: policy for a tuple or group without a value: stop the application, skip it, or send it to a port.
        filter: condition; without one every tuple passes.
    """
    return named_use("Filter", {"onError": on_error, "filter": filter})


def Format(
    *,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    format: Literal["csv", "line", "jsonl"] | None = None,
    quote_strings: bool | Reference | None = None,
    suppress: str | Sequence[Any] | None = None,
    output: Mapping[str, Any] | None = None,
) -> Use:
    """Each tuple gets the bytes, or the text, of a row with its values, which ends with a line feed.

    Args:
        separator: csv.
        null_texts: csv: texts that are null without quotes; first is written.
        format: of a row, which ends with a line feed: csv, line, jsonl.
        quote_strings: csv: values may stand in quotes; else a quote is a character.
        suppress: attributes that are not written.
        output: attribute -> expression; one is Output(), the bytes or text of the row; left out if plain.
    """
    return named_use(
        "Format",
        {
            "separator": separator,
            "nullTexts": null_texts,
            "format": format,
            "quoteStrings": quote_strings,
            "suppress": suppress,
            "output": output,
        },
    )


def Functor(
    *,
    on_error: Literal["fail", "skip", "route"] | None = None,
    filter: str | Column | None = None,
    output: Mapping[str, Any] | Sequence[Any] | None = None,
) -> Use:
    """Every output tuple has the attributes of its output stream: computed, or taken over by name.

    Args:
        on_error: policy for a tuple or group without a value: stop the application, skip it, or send it to a port.
        filter: condition; tuples for which it is not true are dropped.
        output: attribute -> expression; others keep their value; a list has one for each output port.
    """
    return named_use("Functor", {"onError": on_error, "filter": filter, "output": output})


def Gate(
    *,
    max_unacked_tuple_count: int | Reference,
    on_error: Literal["fail", "skip", "route"] | None = None,
    num_tuples_to_ack: str | Column | int | Reference | None = None,
) -> Use:
    """A tuple passes while fewer than `maxUnackedTupleCount` of those before it wait to be acknowledged.

    Args:
        max_unacked_tuple_count: tuples that may have passed and not been acknowledged.
        on_error: policy for a tuple or group without a value: stop the application, skip it, or send it to a port.
        num_tuples_to_ack: expression over input port 1: how many tuples one of its tuples acknowledges.
    """
    return named_use(
        "Gate",
        {"maxUnackedTupleCount": max_unacked_tuple_count, "onError": on_error, "numTuplesToAck": num_tuples_to_ack},
    )


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
    """Every epoch is one request or several, in order, each with an `Idempotency-Key`.

    Args:
        url: http:// or https://; secrets in it as ${env:NAME} or ${file:PATH}.
        headers: of each request; secrets as ${env:NAME} or ${file:PATH}.
        token: a bearer token, as ${env:NAME} or ${file:PATH}.
        ca: file with the certificates that are trusted; else the usual ones.
        timeout: seconds for one request.
        format: jsonl: an object a line; json: an array of objects; csv: names, then rows.
        batch_size: most tuples in one request.
        suppress: attributes that are left out.
        on_undeliverable: of a tuple that the target can never take; route: it is set aside, the others are delivered.
        visibility: read_uncommitted: tuples are posted with their batch.
    """
    return named_use(
        "HttpSink",
        {
            "url": url,
            "headers": headers,
            "token": token,
            "ca": ca,
            "timeout": timeout,
            "format": format,
            "batchSize": batch_size,
            "suppress": suppress,
            "onUndeliverable": on_undeliverable,
            "visibility": visibility,
        },
    )


def HttpSource(
    *,
    port: int | Reference,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    format: Literal["json", "csv", "raw"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    max_message_bytes: int | Reference | None = None,
    journal_limit: int | Reference | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    address: str | None = None,
    path: str | None = None,
    token: str | None = None,
    certificate: str | None = None,
    private_key: str | None = None,
    max_body_bytes: int | Reference | None = None,
    connections: int | Reference | None = None,
    connections_per_address: int | Reference | None = None,
) -> Use:
    """Each request is answered 202 when all messages of its body are in the journal, and none of them is otherwise.

    Args:
        port: 0: a free one, which the host's log names.
        separator: csv.
        null_texts: csv: texts that are null without quotes; first is written.
        format: of a message.
        metadata: attribute: number, received, or what the source calls who sent it.
        max_message_bytes: of one message.
        journal_limit: bytes that may wait to be read.
        on_bad_tuple: a message that is no tuple; stream: to the second output port.
        on_lost_data: messages that are not there any more.
        address: to listen at.
        path: that requests are posted to.
        token: a bearer token, as ${env:NAME} or ${file:PATH}.
        certificate: file with the certificate, for https.
        private_key: file with the key of it.
        max_body_bytes: of one request.
        connections: most at a time; idle ones yield to new ones.
        connections_per_address: most at a time of one address.
    """
    return named_use(
        "HttpSource",
        {
            "port": port,
            "separator": separator,
            "nullTexts": null_texts,
            "format": format,
            "metadata": metadata,
            "maxMessageBytes": max_message_bytes,
            "journalLimit": journal_limit,
            "onBadTuple": on_bad_tuple,
            "onLostData": on_lost_data,
            "address": address,
            "path": path,
            "token": token,
            "certificate": certificate,
            "privateKey": private_key,
            "maxBodyBytes": max_body_bytes,
            "connections": connections,
            "connectionsPerAddress": connections_per_address,
        },
    )


def IcebergSink(
    *,
    catalog: Mapping[str, Any],
    table: str,
    columns: Mapping[str, Any] | None = None,
    suppress: Sequence[Any] | None = None,
    key: Sequence[Any] | None = None,
    partition_by: Sequence[Any] | None = None,
    create_table: bool | Reference | None = None,
    add_columns: bool | Reference | None = None,
    on_undeliverable: Literal["fail", "route"] | None = None,
) -> Use:
    """Every epoch is one commit of the table, which names application, operator and epoch.

    Args:
        catalog: properties of the catalog, as pyiceberg has them: name, type, uri, warehouse.
        table: namespace.name.
        columns: attribute: column, where the names differ.
        suppress: attributes that are not written.
        key: attributes: a tuple replaces the row that has them.
        partition_by: columns that the table is partitioned by.
        create_table: make the table if it is missing.
        add_columns: add columns to the table for attributes that it has none for.
        on_undeliverable: of a tuple that the target can never take; route: it is set aside, the others are delivered.
    """
    return named_use(
        "IcebergSink",
        {
            "catalog": catalog,
            "table": table,
            "columns": columns,
            "suppress": suppress,
            "key": key,
            "partitionBy": partition_by,
            "createTable": create_table,
            "addColumns": add_columns,
            "onUndeliverable": on_undeliverable,
        },
    )


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
    """Reads the files that each snapshot of the main branch adds; those that only rewrite files add nothing.

    Args:
        catalog: properties of the catalog, as pyiceberg has them: name, type, uri, warehouse.
        table: namespace.name.
        start_at: snapshot: all rows there are, then what is added; latest: only what is added; earliest: what was added since the oldest version that can be read; {version: n} or {time: t}: what was added from there on.
        until: latest: end with the version that is the newest one at the start.
        on_change: of a snapshot that deletes or updates rows; skip: nothing of it; rewritten: the rows of all files that it adds, also those that are as before.
        on_lost_data: of versions and files that are gone before they were read.
        poll_period: seconds between two looks.
    """
    return named_use(
        "IcebergSource",
        {
            "catalog": catalog,
            "table": table,
            "startAt": start_at,
            "until": until,
            "onChange": on_change,
            "onLostData": on_lost_data,
            "pollPeriod": poll_period,
        },
    )


def Join(
    *,
    window: str | Sequence[Any],
    on_error: Literal["fail", "skip", "route"] | None = None,
    equality_lhs: Sequence[Any] | None = None,
    equality_rhs: Sequence[Any] | None = None,
    match: str | Column | None = None,
    algorithm: Literal["inner", "leftOuter", "rightOuter", "outer"] | None = None,
    output: Mapping[str, Any] | None = None,
    time_attribute: str | None = None,
) -> Use:
    """A tuple that arrives enters its window, and is paired with those in the other one, in their order.

    Args:
        window: sliding, P: for both streams, or a list of one for each.
        on_error: policy for a tuple or group without a value: stop the application, skip it, or send it to a port.
        equality_lhs: attributes of port 0.
        equality_rhs: attributes of port 1 that are equal to these.
        match: condition that a pair meets besides.
        algorithm: outer: tuples that never matched come when they leave their window, with nulls.
        output: attribute -> expression; others keep their value.
        time_attribute: the timestamp that time(...) windows go by, in both streams.
    """
    return named_use(
        "Join",
        {
            "window": window,
            "onError": on_error,
            "equalityLHS": equality_lhs,
            "equalityRHS": equality_rhs,
            "match": match,
            "algorithm": algorithm,
            "output": output,
            "timeAttribute": time_attribute,
        },
    )


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
    """Every epoch is a transaction, which also writes the mark that it was made.

    Args:
        brokers: host:port, several with commas between them.
        topic: that messages are written to.
        separator: csv.
        null_texts: csv: texts that are null without quotes; first is written.
        client: settings of librdkafka; secrets as ${env:NAME} or ${file:PATH}.
        format: of a message.
        registry: avro, protobuf: where the schemas are: {url: http://host:port}.
        subject: avro, protobuf: of the registry; else the topic with -value behind it.
        register_schema: false: the latest schema of the subject is taken as it is.
        key: attribute that is the key of the message.
        partition: attribute with the number of the partition; else by the key.
        timestamp: attribute with the time of the message; else when it is sent.
        headers: header: attribute.
        suppress: attributes that are not in the value.
        on_undeliverable: of a tuple that the target can never take; route: it is set aside, the others are delivered.
        visibility: read_uncommitted: messages are sent with their batch, and stay.
    """
    return named_use(
        "KafkaSink",
        {
            "brokers": brokers,
            "topic": topic,
            "separator": separator,
            "nullTexts": null_texts,
            "client": client,
            "format": format,
            "registry": registry,
            "subject": subject,
            "registerSchema": register_schema,
            "key": key,
            "partition": partition,
            "timestamp": timestamp,
            "headers": headers,
            "suppress": suppress,
            "onUndeliverable": on_undeliverable,
            "visibility": visibility,
        },
    )


def KafkaSource(
    *,
    brokers: str,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    client: Mapping[str, Any] | None = None,
    topic: str | Sequence[Any] | None = None,
    pattern: str | None = None,
    format: Literal["json", "csv", "raw", "avro", "protobuf"] | None = None,
    registry: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    start_at: str | None = None,
    until: Literal["latest"] | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    isolation: Literal["read_committed", "read_uncommitted"] | None = None,
    discovery: float | Reference | None = None,
) -> Use:
    """Reads topics; the offset is the next offset of every partition. A channel reads `partition % width`.

    Args:
        brokers: host:port, several with commas between them.
        separator: csv.
        null_texts: csv: texts that are null without quotes; first is written.
        client: settings of librdkafka; secrets as ${env:NAME} or ${file:PATH}.
        topic: one, or several; or a pattern.
        pattern: regular expression: topics whose whole name matches.
        format: of a message.
        registry: avro, protobuf: where the schemas are: {url: http://host:port}.
        metadata: attribute: key, topic, partition, offset, timestamp or header.NAME.
        start_at: earliest, latest or a time in ISO 8601.
        until: latest: the run ends with what is there when it begins.
        on_bad_tuple: a message that is no tuple; stream: to the second output port.
        on_lost_data: messages that are not there any more.
        isolation: read_committed: messages of complete transactions only.
        discovery: seconds between two looks for new partitions.
    """
    return named_use(
        "KafkaSource",
        {
            "brokers": brokers,
            "separator": separator,
            "nullTexts": null_texts,
            "client": client,
            "topic": topic,
            "pattern": pattern,
            "format": format,
            "registry": registry,
            "metadata": metadata,
            "startAt": start_at,
            "until": until,
            "onBadTuple": on_bad_tuple,
            "onLostData": on_lost_data,
            "isolation": isolation,
            "discovery": discovery,
        },
    )


def Lookup(
    *,
    table: str,
    key: str | Sequence[Any],
    take: Mapping[str, Any],
    attribute: str | Sequence[Any] | None = None,
    algorithm: Literal["leftOuter", "inner"] | None = None,
) -> Use:
    """Each tuple gets attributes from the row of a table that has its key; a null finds none.

    Args:
        table: CSV or Parquet file; paths as in FileSource.
        key: the table's column to look up, or several; every key once.
        take: new attribute -> the table's column; null where not found.
        attribute: the stream's attributes that are looked up; those called as the key.
        algorithm: inner: tuples without a row go to the second output port, if there is one.
    """
    return named_use(
        "Lookup", {"table": table, "key": key, "take": take, "attribute": attribute, "algorithm": algorithm}
    )


def MQTTSource(
    *,
    url: str,
    topics: Sequence[Any],
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    format: Literal["json", "csv", "raw"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    max_message_bytes: int | Reference | None = None,
    journal_limit: int | Reference | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    user: str | None = None,
    password: str | None = None,
    qos: Literal[0, 1] | None = None,
    client_id: str | None = None,
) -> Use:
    """A message is acknowledged to the broker when it is in the journal.

    Args:
        url: scheme://host:port, without user and password.
        topics: filters, as sensors/+/temperature or sensors/#.
        separator: csv.
        null_texts: csv: texts that are null without quotes; first is written.
        format: of a message.
        metadata: attribute: number, received, or what the source calls who sent it.
        max_message_bytes: of one message.
        journal_limit: bytes that may wait to be read.
        on_bad_tuple: a message that is no tuple; stream: to the second output port.
        on_lost_data: messages that are not there any more.
        user: name of the user, or ${env:NAME} or ${file:PATH}.
        password: as ${env:NAME} or ${file:PATH}.
        qos: 1: acknowledged when it is in the journal; 0: not at all.
        client_id: by which the broker keeps what comes while no host is there.
    """
    return named_use(
        "MQTTSource",
        {
            "url": url,
            "topics": topics,
            "separator": separator,
            "nullTexts": null_texts,
            "format": format,
            "metadata": metadata,
            "maxMessageBytes": max_message_bytes,
            "journalLimit": journal_limit,
            "onBadTuple": on_bad_tuple,
            "onLostData": on_lost_data,
            "user": user,
            "password": password,
            "qos": qos,
            "clientId": client_id,
        },
    )


def Merge(*, order_by: str | Sequence[Any]) -> Use:
    """A tuple is submitted when no other port can have an earlier one any more; of equal ones that of the first port.

    Args:
        order_by: the number or timestamp that every stream is in order of, ascending; or one for each port.
    """
    return named_use("Merge", {"orderBy": order_by})


def MetricsSink(
    *,
    metrics: str | Column | Sequence[Any],
    on_error: Literal["fail", "skip", "route"] | None = None,
    names: str | Sequence[Any] | None = None,
    descriptions: str | Sequence[Any] | None = None,
    initial_values: float | Reference | Sequence[Any] | None = None,
) -> Use:
    """Each tuple sets the custom metrics of the operator, which are gauges, to the values of expressions.

    Args:
        metrics: expression, or several: each tuple sets a metric to its value; null leaves it.
        on_error: policy for a tuple or group without a value: stop the application, skip it, or send it to a port.
        names: of the metrics; as they are written when left out.
        descriptions: of the metrics, for people.
        initial_values: before the first tuple, 0 if left out.
    """
    return named_use(
        "MetricsSink",
        {
            "metrics": metrics,
            "onError": on_error,
            "names": names,
            "descriptions": descriptions,
            "initialValues": initial_values,
        },
    )


def NATSSource(
    *,
    url: str,
    stream: str,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    format: Literal["json", "csv", "raw"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    max_message_bytes: int | Reference | None = None,
    journal_limit: int | Reference | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    user: str | None = None,
    password: str | None = None,
    subject: str | None = None,
    consumer: str | None = None,
    token: str | None = None,
    start_at: Literal["earliest", "latest"] | None = None,
) -> Use:
    """A message is acknowledged when it is in the journal; one that comes again is known by its number.

    Args:
        url: scheme://host:port, without user and password.
        stream: of JetStream.
        separator: csv.
        null_texts: csv: texts that are null without quotes; first is written.
        format: of a message.
        metadata: attribute: number, received, or what the source calls who sent it.
        max_message_bytes: of one message.
        journal_limit: bytes that may wait to be read.
        on_bad_tuple: a message that is no tuple; stream: to the second output port.
        on_lost_data: messages that are not there any more.
        user: name of the user, or ${env:NAME} or ${file:PATH}.
        password: as ${env:NAME} or ${file:PATH}.
        subject: filter; else all subjects of the stream.
        consumer: durable, made if it is missing; by default the operator's own.
        token: as ${env:NAME} or ${file:PATH}.
        start_at: of a new consumer.
    """
    return named_use(
        "NATSSource",
        {
            "url": url,
            "stream": stream,
            "separator": separator,
            "nullTexts": null_texts,
            "format": format,
            "metadata": metadata,
            "maxMessageBytes": max_message_bytes,
            "journalLimit": journal_limit,
            "onBadTuple": on_bad_tuple,
            "onLostData": on_lost_data,
            "user": user,
            "password": password,
            "subject": subject,
            "consumer": consumer,
            "token": token,
            "startAt": start_at,
        },
    )


def Pair(*, partition_by: Sequence[Any] | None = None) -> Use:
    """When a tuple has come to every input port, all of them are submitted in the order of the ports, then a marker.

    Args:
        partition_by: attributes by whose values tuples are matched: the same of all ports, or a list for each port.
    """
    return named_use("Pair", {"partitionBy": partition_by})


def Parse(
    *,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    format: Literal["csv", "line", "jsonl"] | None = None,
    quote_strings: bool | Reference | None = None,
    parse_input: str | None = None,
    parsing: Literal["strict", "permissive", "fast"] | None = None,
) -> Use:
    """The bytes of all tuples, one after another, are one text, whose rows are the tuples that are submitted.

    Args:
        separator: csv.
        null_texts: csv: texts that are null without quotes; first is written.
        format: of a row, which ends with a line feed: csv, line, jsonl.
        quote_strings: csv: values may stand in quotes; else a quote is a character.
        parse_input: the attribute with the bytes, or texts; else there is one only.
        parsing: permissive: malformed rows are dropped and counted; fast is strict here.
    """
    return named_use(
        "Parse",
        {
            "separator": separator,
            "nullTexts": null_texts,
            "format": format,
            "quoteStrings": quote_strings,
            "parseInput": parse_input,
            "parsing": parsing,
        },
    )


def PostgresChangeSource(
    *,
    url: str,
    table: str,
    slot: str,
    publication: str,
    columns: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    changes: Sequence[Any] | None = None,
    start_at: Literal["snapshot", "slot"] | None = None,
    until: Literal["latest"] | None = None,
    poll_period: float | Reference | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
) -> Use:
    """Reads a replication slot without taking from it; the offset is a position in the server's log.

    Args:
        url: SQLAlchemy URL of a PostgreSQL server; {env:NAME}: an environment variable.
        table: name, or schema.name.
        slot: replication slot, of this source alone; made if missing.
        publication: publication that has the table.
        columns: attribute: column, where the names differ.
        metadata: attribute: change, committed, position or transaction.
        changes: those that become tuples.
        start_at: snapshot: all rows there are, then the changes; slot: the changes that the slot has kept.
        until: latest: it ends with the changes that are there when it begins.
        poll_period: seconds between two looks for new changes.
        on_bad_tuple: a row that does not fit; stream: to the second output port.
        on_lost_data: changes that are gone before they were read.
    """
    return named_use(
        "PostgresChangeSource",
        {
            "url": url,
            "table": table,
            "slot": slot,
            "publication": publication,
            "columns": columns,
            "metadata": metadata,
            "changes": changes,
            "startAt": start_at,
            "until": until,
            "pollPeriod": poll_period,
            "onBadTuple": on_bad_tuple,
            "onLostData": on_lost_data,
        },
    )


def Punctor(
    *,
    punctuate: str | Column,
    position: Literal["before", "after"],
    on_error: Literal["fail", "skip", "route"] | None = None,
    output: Mapping[str, Any] | None = None,
) -> Use:
    """Passes all tuples on, each as Functor would, with a window marker before or after some of them.

    Args:
        punctuate: condition; a tuple for which it is true gets a window marker.
        position: where the marker is put.
        on_error: policy for a tuple or group without a value: stop the application, skip it, or send it to a port.
        output: attribute -> expression; others keep their value.
    """
    return named_use("Punctor", {"punctuate": punctuate, "position": position, "onError": on_error, "output": output})


def RedisSource(
    *,
    url: str,
    stream: str,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    format: Literal["json", "csv", "raw"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    max_message_bytes: int | Reference | None = None,
    journal_limit: int | Reference | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    user: str | None = None,
    password: str | None = None,
    group: str | None = None,
    field: str | None = None,
    start_at: Literal["earliest", "latest"] | None = None,
) -> Use:
    """An entry is acknowledged when it is in the journal; one that comes again is known by its id.

    Args:
        url: scheme://host:port, without user and password.
        stream: the key of the stream; it is made if it is missing.
        separator: csv.
        null_texts: csv: texts that are null without quotes; first is written.
        format: of a message.
        metadata: attribute: number, received, or what the source calls who sent it.
        max_message_bytes: of one message.
        journal_limit: bytes that may wait to be read.
        on_bad_tuple: a message that is no tuple; stream: to the second output port.
        on_lost_data: messages that are not there any more.
        user: name of the user, or ${env:NAME} or ${file:PATH}.
        password: as ${env:NAME} or ${file:PATH}.
        group: consumer group, made if it is missing; by default the operator's own.
        field: of an entry, that has the message.
        start_at: of a new group.
    """
    return named_use(
        "RedisSource",
        {
            "url": url,
            "stream": stream,
            "separator": separator,
            "nullTexts": null_texts,
            "format": format,
            "metadata": metadata,
            "maxMessageBytes": max_message_bytes,
            "journalLimit": journal_limit,
            "onBadTuple": on_bad_tuple,
            "onLostData": on_lost_data,
            "user": user,
            "password": password,
            "group": group,
            "field": field,
            "startAt": start_at,
        },
    )


def Sort(
    *,
    sort_by: Sequence[Any],
    on_error: Literal["fail", "skip", "route"] | None = None,
    window: str | None = None,
    order: Literal["ascending", "descending"] | Sequence[Any] | None = None,
    partition_by: Sequence[Any] | None = None,
    time_attribute: str | None = None,
) -> Use:
    """A tumbling window is submitted in order when it is closed, with a window marker behind it.

    Args:
        sort_by: expressions; the first one decides first.
        on_error: policy for a tuple or group without a value: stop the application, skip it, or send it to a port.
        window: the window clause; sliding windows are of a count.
        order: ascending or descending, for all expressions or for each.
        partition_by: attributes whose every value has a window of its own.
        time_attribute: the timestamp that time(...) windows go by.
    """
    return named_use(
        "Sort",
        {
            "sortBy": sort_by,
            "onError": on_error,
            "window": window,
            "order": order,
            "partitionBy": partition_by,
            "timeAttribute": time_attribute,
        },
    )


def Split(
    *,
    on_error: Literal["fail", "skip", "route"] | None = None,
    index: str | Column | int | Reference | Sequence[Any] | None = None,
    file: str | None = None,
    key: str | Column | None = None,
) -> Use:
    """The order of tuples is kept on every port; a tuple goes to no port twice.

    Args:
        on_error: policy for a tuple or group without a value: stop the application, skip it, or send it to a port.
        index: port number as an expression, modulo the number of ports; negative or null for none.
        file: CSV of keys with their ports: `UA,0,2`, `default,1`.
        key: expression that is looked up in the file, as text.
    """
    return named_use("Split", {"onError": on_error, "index": index, "file": file, "key": key})


def Sql(
    *,
    query: str,
    watermarks: Mapping[str, Any] | None = None,
    static: Mapping[str, Any] | None = None,
    output_mode: Literal["append", "update"] | None = None,
    flush: bool | Reference | None = None,
) -> Use:
    """Runs a query over the input streams as Spark's Structured Streaming does: windows, joins, aggregates.

    Args:
        query: SELECT statement of Spark's; the input streams are views of their names.
        watermarks: input stream -> its event time: {attribute, delay}, as in Spark.
        static: name -> a table that does not stream: {file, format, schema, options}.
        output_mode: rows when they are final, or whenever they change.
        flush: close all windows and joins when the input has ended.
    """
    return named_use(
        "Sql", {"query": query, "watermarks": watermarks, "static": static, "outputMode": output_mode, "flush": flush}
    )


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
    """Every epoch is one transaction on the table, together with a mark in `streams_deliveries` that it was made.

    Args:
        url: SQLAlchemy URL of SQLite, PostgreSQL, MariaDB or MySQL; {env:NAME}: an environment variable.
        table: name, or schema.name.
        columns: attribute: column, where the names differ.
        suppress: attributes that are not written.
        key: attributes: a tuple replaces the row that has them.
        create_table: make the table if it is missing.
        on_undeliverable: of a tuple that the target can never take; route: it is set aside, the others are delivered.
        visibility: read_uncommitted: rows are written with their batch, and stay.
    """
    return named_use(
        "SqlSink",
        {
            "url": url,
            "table": table,
            "columns": columns,
            "suppress": suppress,
            "key": key,
            "createTable": create_table,
            "onUndeliverable": on_undeliverable,
            "visibility": visibility,
        },
    )


def SqlSource(
    *,
    url: str,
    column: str,
    table: str | None = None,
    query: str | None = None,
    columns: Mapping[str, Any] | None = None,
    start_at: int | Reference | str | None = None,
    until: Literal["latest"] | None = None,
    poll_period: float | Reference | None = None,
    settle: float | Reference | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
) -> Use:
    """The offset is the value of the growing column up to which rows were read, and how many rows were read last.

    Args:
        url: SQLAlchemy URL of SQLite, PostgreSQL, MariaDB or MySQL; {env:NAME}: an environment variable.
        column: the column whose values grow from row to row.
        table: name, or schema.name.
        query: in place of a table: a statement that selects.
        columns: attribute: column, where the names differ.
        start_at: earliest, latest, or the value behind which rows are read.
        until: latest: it ends with the rows that are there when it begins.
        poll_period: seconds between two looks for new rows.
        settle: seconds that a transaction may take from a row to its commit.
        on_bad_tuple: a row that does not fit; stream: to the second output port.
        on_lost_data: rows that come behind the position.
    """
    return named_use(
        "SqlSource",
        {
            "url": url,
            "column": column,
            "table": table,
            "query": query,
            "columns": columns,
            "startAt": start_at,
            "until": until,
            "pollPeriod": poll_period,
            "settle": settle,
            "onBadTuple": on_bad_tuple,
            "onLostData": on_lost_data,
        },
    )


def Switch(
    *,
    status: str | Column,
    on_error: Literal["fail", "skip", "route"] | None = None,
    initial_status: bool | Reference | None = None,
) -> Use:
    """While the switch is closed the tuples of input port 0 pass; while it is open they wait, in order.

    Args:
        status: condition over input port 1: true closes the switch, anything else opens it.
        on_error: policy for a tuple or group without a value: stop the application, skip it, or send it to a port.
        initial_status: it is closed at the beginning.
    """
    return named_use("Switch", {"status": status, "onError": on_error, "initialStatus": initial_status})


def TCPSource(
    *,
    port: int | Reference,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    format: Literal["json", "csv", "raw"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    max_message_bytes: int | Reference | None = None,
    journal_limit: int | Reference | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    role: Literal["server", "client"] | None = None,
    address: str | None = None,
    framing: Literal["lines", "length"] | None = None,
    connections: int | Reference | None = None,
    connections_per_address: int | Reference | None = None,
    acknowledge: bool | Reference | None = None,
) -> Use:
    """Messages are read from connections into the journal, and become tuples from there.

    Args:
        port: 0, of a server: a free one, which the host's log names.
        separator: csv.
        null_texts: csv: texts that are null without quotes; first is written.
        format: of a message.
        metadata: attribute: number, received, or what the source calls who sent it.
        max_message_bytes: of one message.
        journal_limit: bytes that may wait to be read.
        on_bad_tuple: a message that is no tuple; stream: to the second output port.
        on_lost_data: messages that are not there any more.
        role: listens, or connects.
        address: to listen at, or to connect to.
        framing: where a message ends: lines; length: four bytes in front.
        connections: most at a time, of a server; silent ones yield to new ones.
        connections_per_address: most at a time of one address, of a server.
        acknowledge: answer with the number of messages of the connection that are in the journal.
    """
    return named_use(
        "TCPSource",
        {
            "port": port,
            "separator": separator,
            "nullTexts": null_texts,
            "format": format,
            "metadata": metadata,
            "maxMessageBytes": max_message_bytes,
            "journalLimit": journal_limit,
            "onBadTuple": on_bad_tuple,
            "onLostData": on_lost_data,
            "role": role,
            "address": address,
            "framing": framing,
            "connections": connections,
            "connectionsPerAddress": connections_per_address,
            "acknowledge": acknowledge,
        },
    )


def ThreadedSplit() -> Use:
    """The tuples go to the output ports in turn."""
    return named_use("ThreadedSplit", {})


def Throttle(*, rate: float | Reference) -> Use:
    """Passes every batch on and then pauses for as long as its tuples may take.

    Args:
        rate: tuples a second.
    """
    return named_use("Throttle", {"rate": rate})


def UDPSource(
    *,
    port: int | Reference,
    separator: str | None = None,
    null_texts: Sequence[Any] | None = None,
    format: Literal["json", "csv", "raw"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    max_message_bytes: int | Reference | None = None,
    journal_limit: int | Reference | None = None,
    on_bad_tuple: Literal["fail", "drop", "stream"] | None = None,
    on_lost_data: Literal["fail", "skip"] | None = None,
    address: str | None = None,
) -> Use:
    """Every datagram is a message; a line feed at its end is none of it.

    Args:
        port: 0: a free one, which the host's log names.
        separator: csv.
        null_texts: csv: texts that are null without quotes; first is written.
        format: of a message.
        metadata: attribute: number, received, or what the source calls who sent it.
        max_message_bytes: of one message.
        journal_limit: bytes that may wait to be read.
        on_bad_tuple: a message that is no tuple; stream: to the second output port.
        on_lost_data: messages that are not there any more.
        address: to listen at.
    """
    return named_use(
        "UDPSource",
        {
            "port": port,
            "separator": separator,
            "nullTexts": null_texts,
            "format": format,
            "metadata": metadata,
            "maxMessageBytes": max_message_bytes,
            "journalLimit": journal_limit,
            "onBadTuple": on_bad_tuple,
            "onLostData": on_lost_data,
            "address": address,
        },
    )


def Union() -> Use:
    """Passes on what arrives on any port, in order of arrival, with the attributes of the output stream."""
    return named_use("Union", {})
