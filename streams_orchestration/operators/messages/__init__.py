"""Contents of messages: decoders make tuples of bytes, and encoders make bytes of tuples."""
