"""KafkaSource and KafkaSink on a real broker."""
