"""What changes between two plans of one application: widths, and the PEs that restart for it."""
