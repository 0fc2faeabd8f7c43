"""What messages of brokers hold: bytes become tuples (`decoders.py`), tuples become bytes (`encoders.py`)."""
