"""The standard operators that can run, one module each, named as Streams users know them."""

from __future__ import annotations

STANDARD: dict[str, str] = {
    "Aggregate": "streams_orchestration.operators.standard.aggregate:Aggregate",
    "Barrier": "streams_orchestration.operators.standard.barrier:Barrier",
    "Beacon": "streams_orchestration.operators.standard.beacon:Beacon",
    "Custom": "streams_orchestration.operators.standard.custom:Custom",
    "DeDuplicate": "streams_orchestration.operators.standard.deduplicate:DeDuplicate",
    "DeltaSink": "streams_orchestration.operators.standard.delta_sink:DeltaSink",
    "DeltaSource": "streams_orchestration.operators.standard.delta_source:DeltaSource",
    "DynamicFilter": "streams_orchestration.operators.standard.dynamic_filter:DynamicFilter",
    "FileSink": "streams_orchestration.operators.standard.file_sink:FileSink",
    "FileSource": "streams_orchestration.operators.standard.file_source:FileSource",
    "Filter": "streams_orchestration.operators.standard.filter:Filter",
    "Functor": "streams_orchestration.operators.standard.functor:Functor",
    "HttpSink": "streams_orchestration.operators.standard.http_sink:HttpSink",
    "HttpSource": "streams_orchestration.operators.standard.http_source:HttpSource",
    "IcebergSink": "streams_orchestration.operators.standard.iceberg_sink:IcebergSink",
    "IcebergSource": "streams_orchestration.operators.standard.iceberg_source:IcebergSource",
    "Join": "streams_orchestration.operators.standard.join:Join",
    "KafkaSink": "streams_orchestration.operators.standard.kafka_sink:KafkaSink",
    "KafkaSource": "streams_orchestration.operators.standard.kafka_source:KafkaSource",
    "Pair": "streams_orchestration.operators.standard.pair:Pair",
    "Punctor": "streams_orchestration.operators.standard.punctor:Punctor",
    "Sort": "streams_orchestration.operators.standard.sort:Sort",
    "Split": "streams_orchestration.operators.standard.split:Split",
    "SqlSink": "streams_orchestration.operators.standard.sql_sink:SqlSink",
    "SqlSource": "streams_orchestration.operators.standard.sql_source:SqlSource",
    "TCPSource": "streams_orchestration.operators.standard.tcp_source:TCPSource",
    "ThreadedSplit": "streams_orchestration.operators.standard.threaded_split:ThreadedSplit",
    "Throttle": "streams_orchestration.operators.standard.throttle:Throttle",
    "UDPSource": "streams_orchestration.operators.standard.udp_source:UDPSource",
    "Union": "streams_orchestration.operators.standard.union:Union",
}
"""Kind -> `package.module:Class`."""
