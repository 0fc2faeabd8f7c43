"""Parts that sinks share: deliveries of whole epochs, files that are merged, and tuples that a target refuses."""
