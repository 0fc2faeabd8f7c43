"""The last stage: cuts PEs into programs."""
