"""Apache Kafka, as KafkaSource and KafkaSink use it.

`client.py` has the settings and errors of the library, `reader.py` reads partitions, `producer.py` writes transactions.
The contents of messages are in `operators/messages`.
"""
