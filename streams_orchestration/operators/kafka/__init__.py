"""Apache Kafka: what KafkaSource and KafkaSink are made of.

`client.py` is what both know of the library, `reader.py` reads partitions, `producer.py` writes transactions. What
messages hold is in `operators/messages/`.
"""
