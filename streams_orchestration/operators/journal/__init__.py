"""The journal: a durable log of input that its senders cannot repeat."""
