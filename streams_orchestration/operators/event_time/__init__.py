"""Event time: watermarks between tuples, and an operator's role in an event-time graph."""
