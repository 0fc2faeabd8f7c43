"""Event time: an operator's role in an event-time graph, and its watermark."""
