"""The contents of messages."""
