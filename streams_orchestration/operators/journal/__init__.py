"""The journal: a durable log of input whose senders do not repeat it."""
