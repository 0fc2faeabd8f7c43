"""Sort, in windows of counts, times and event time."""
