"""Contents of messages: decoders convert bytes to tuples, and encoders convert tuples to bytes."""
