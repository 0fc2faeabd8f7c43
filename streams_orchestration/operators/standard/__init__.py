"""The standard operators, one module each, under the names that IBM Streams users know."""

from __future__ import annotations

STANDARD: dict[str, str] = {
    "Aggregate": "streams_orchestration.operators.standard.aggregate:Aggregate",
    "Barrier": "streams_orchestration.operators.standard.barrier:Barrier",
    "Beacon": "streams_orchestration.operators.standard.beacon:Beacon",
    "CharacterTransform": "streams_orchestration.operators.standard.character_transform:CharacterTransform",
    "Compress": "streams_orchestration.operators.standard.compress:Compress",
    "Custom": "streams_orchestration.operators.standard.custom:Custom",
    "DataFrame": "streams_orchestration.operators.standard.dataframe:DataFrame",
    "DeDuplicate": "streams_orchestration.operators.standard.deduplicate:DeDuplicate",
    "Decompress": "streams_orchestration.operators.standard.decompress:Decompress",
    "Delay": "streams_orchestration.operators.standard.delay:Delay",
    "DeltaSink": "streams_orchestration.operators.standard.delta_sink:DeltaSink",
    "DeltaSource": "streams_orchestration.operators.standard.delta_source:DeltaSource",
    "DirectoryScan": "streams_orchestration.operators.standard.directory_scan:DirectoryScan",
    "DynamicFilter": "streams_orchestration.operators.standard.dynamic_filter:DynamicFilter",
    "FileSink": "streams_orchestration.operators.standard.file_sink:FileSink",
    "FileSource": "streams_orchestration.operators.standard.file_source:FileSource",
    "Filter": "streams_orchestration.operators.standard.filter:Filter",
    "Format": "streams_orchestration.operators.standard.format:Format",
    "Functor": "streams_orchestration.operators.standard.functor:Functor",
    "Gate": "streams_orchestration.operators.standard.gate:Gate",
    "HttpSink": "streams_orchestration.operators.standard.http_sink:HttpSink",
    "HttpSource": "streams_orchestration.operators.standard.http_source:HttpSource",
    "IcebergSink": "streams_orchestration.operators.standard.iceberg_sink:IcebergSink",
    "IcebergSource": "streams_orchestration.operators.standard.iceberg_source:IcebergSource",
    "Join": "streams_orchestration.operators.standard.join:Join",
    "KafkaSink": "streams_orchestration.operators.standard.kafka_sink:KafkaSink",
    "KafkaSource": "streams_orchestration.operators.standard.kafka_source:KafkaSource",
    "Lookup": "streams_orchestration.operators.standard.lookup:Lookup",
    "MQTTSource": "streams_orchestration.operators.standard.mqtt_source:MQTTSource",
    "Merge": "streams_orchestration.operators.standard.merge:Merge",
    "MetricsSink": "streams_orchestration.operators.standard.metrics_sink:MetricsSink",
    "NATSSource": "streams_orchestration.operators.standard.nats_source:NATSSource",
    "Pair": "streams_orchestration.operators.standard.pair:Pair",
    "Parse": "streams_orchestration.operators.standard.parse:Parse",
    "PostgresChangeSource": "streams_orchestration.operators.standard.postgres_change_source:PostgresChangeSource",
    "Punctor": "streams_orchestration.operators.standard.punctor:Punctor",
    "RedisSource": "streams_orchestration.operators.standard.redis_source:RedisSource",
    "ReplayableStart": "streams_orchestration.operators.standard.replayable_start:ReplayableStart",
    "Sort": "streams_orchestration.operators.standard.sort:Sort",
    "Split": "streams_orchestration.operators.standard.split:Split",
    "Sql": "streams_orchestration.operators.standard.sql:Sql",
    "SqlSink": "streams_orchestration.operators.standard.sql_sink:SqlSink",
    "SqlSource": "streams_orchestration.operators.standard.sql_source:SqlSource",
    "Switch": "streams_orchestration.operators.standard.switch:Switch",
    "TCPSink": "streams_orchestration.operators.standard.tcp_sink:TCPSink",
    "TCPSource": "streams_orchestration.operators.standard.tcp_source:TCPSource",
    "ThreadedSplit": "streams_orchestration.operators.standard.threaded_split:ThreadedSplit",
    "Throttle": "streams_orchestration.operators.standard.throttle:Throttle",
    "UDPSink": "streams_orchestration.operators.standard.udp_sink:UDPSink",
    "UDPSource": "streams_orchestration.operators.standard.udp_source:UDPSource",
    "Union": "streams_orchestration.operators.standard.union:Union",
    "XMLParse": "streams_orchestration.operators.standard.xml_parse:XMLParse",
}
"""Map each operator kind to `package.module:Class`."""

WITH_INPUTS: dict[str, str] = {"FileSource": "streams_orchestration.operators.standard.named_files:NamedFiles"}
"""Map each source kind that has a different class when it has an input port to that class."""
DEVICES = ("/dev/stdout", "/dev/stderr", "/dev/null")
"""The paths of devices. Standard output and error are the same here: the lines that the program prints."""
TO_DEVICES: dict[str, str] = {"FileSink": "streams_orchestration.operators.standard.device_sink:DeviceSink"}
"""Map each sink kind that has a different class when its file is a device to that class."""
WITH_PROCESS: dict[str, str] = {"Custom": "streams_orchestration.operators.standard.custom_source:CustomSource"}
"""Map each kind that has a different class when its logic in SPL has `onProcess` to that class."""
INTERLEAVED: dict[str, str] = {
    "FileSource": "streams_orchestration.operators.standard.interleaved_files:InterleavedFiles"
}
"""Map each source kind that has a different class with the parameter `interleave` to that class."""
CONSUMED: dict[str, str] = {"FileSource": "streams_orchestration.operators.standard.consumed_files:ConsumedFiles"}
"""Map each source kind that has a different class if it deletes or moves its files to that class."""
